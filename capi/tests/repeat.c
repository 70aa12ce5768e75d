// Loads, runs, edits, lowers and frees, COUNT times: what valgrind looks at.
//
//     repeat AIRLOCK MODEL PASS.wasm OUT.pbtxt COUNT

#include <airlock.h>

#include <stdio.h>

#define CHECK(call)                                                                            \
    do {                                                                                       \
        if ((call) != AIRLOCK_STATUS_OK) {                                                     \
            fprintf(stderr, "%s: %s\n", #call, (const char *)airlock_last_error()->message.ptr); \
            return 1;                                                                          \
        }                                                                                      \
    } while (0)

static int edit(airlock_id model) {
    airlock_id editor, report;
    CHECK(airlock_editor_open(model, &editor));
    airlock_columns columns;
    CHECK(airlock_graph_read_columns(editor, 0, &columns));
    for (size_t i = 0; i < columns.ids.len; i++) {
        airlock_text name;
        airlock_args args;
        airlock_value_type type;
        CHECK(airlock_graph_name(editor, columns.ids.items[i], &name));
        CHECK(airlock_graph_args(editor, columns.ids.items[i], &args));
        CHECK(airlock_graph_type_of(editor, columns.ids.items[i], &type));
        CHECK(airlock_graph_annotate(editor, columns.ids.items[i], airlock_str("seen"), name));
    }
    airlock_effects_table effects;
    CHECK(airlock_graph_effects_of(editor, columns.ids.items, columns.ids.len, &effects));
    CHECK(airlock_editor_judge(editor, &report));
    CHECK(airlock_free(report));
    CHECK(airlock_free(editor));
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    airlock_options options;
    memset(&options, 0, sizeof options);
    options.worker = airlock_str(argv[1]);
    airlock_id host, pass;
    CHECK(airlock_open(AIRLOCK_VERSION, &options, &host));
    CHECK(airlock_pass_load(host, airlock_str(argv[3]), &pass));
    for (int i = 0, count = atoi(argv[5]); i < count; i++) {
        airlock_id model, report, lowered;
        airlock_report_view view;
        CHECK(airlock_model_load(host, airlock_str(argv[2]), &model));
        CHECK(airlock_pass_set_option(pass, airlock_str("cast"), airlock_str(i % 2 ? "back" : NULL)));
        CHECK(airlock_run(model, pass, &report));
        CHECK(airlock_report_read(report, &view));
        if (view.outcome != AIRLOCK_OUTCOME_REFUSED) return 1;
        if (edit(model)) return 1;
        if (i % 100 == 0) {
            CHECK(airlock_lower(model, airlock_str(argv[4]), &lowered));
            CHECK(airlock_free(lowered));
        }
        CHECK(airlock_free(report));
        CHECK(airlock_free(model));
    }
    CHECK(airlock_free(pass));
    CHECK(airlock_free(host));
    printf("%s runs\n", argv[5]);
    return 0;
}
