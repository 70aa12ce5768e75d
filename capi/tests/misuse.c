// Whatever is wrong with a call is an error: null, ids of nothing, of what was freed and of other kinds, numbers that mean nothing, texts that are
// no UTF-8, another thread, another version.
//
//     misuse AIRLOCK MODEL PASS.wasm

#include <airlock.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(call, expected)                                                                                             \
    do {                                                                                                                   \
        airlock_status got = (call);                                                                                       \
        if (got != (expected)) {                                                                                           \
            const airlock_error *why = airlock_last_error();                                                               \
            fprintf(stderr, "%s:%d: %s gave %d: %s\n", __FILE__, __LINE__, #call, got, why ? (const char *)why->message.ptr : ""); \
            return 1;                                                                                                      \
        }                                                                                                                  \
        if (got != AIRLOCK_STATUS_OK && airlock_last_error()->message.len == 0) {                                          \
            fprintf(stderr, "%s:%d: %s says nothing\n", __FILE__, __LINE__, #call);                                        \
            return 1;                                                                                                      \
        }                                                                                                                  \
    } while (0)

static airlock_status of_other_thread;

static void *elsewhere(void *editor) {
    airlock_nodes nodes;
    of_other_thread = airlock_graph_nodes(*(airlock_id *)editor, 0, &nodes);
    if (of_other_thread == AIRLOCK_STATUS_WRONG_THREAD) of_other_thread = airlock_free(*(airlock_id *)editor);
    return NULL;
}

static int editing(airlock_id model) {
    airlock_id editor, second, report;
    EXPECT(airlock_editor_open(model, &editor), AIRLOCK_STATUS_OK);
    EXPECT(airlock_editor_open(model, &second), AIRLOCK_STATUS_BUSY);
    EXPECT(airlock_model_write(model, airlock_str("/nowhere/x.fx")), AIRLOCK_STATUS_BUSY);
    pthread_t thread;
    if (pthread_create(&thread, NULL, elsewhere, &editor) || pthread_join(thread, NULL)) return 1;
    EXPECT(of_other_thread, AIRLOCK_STATUS_WRONG_THREAD);

    airlock_nodes nodes, found;
    airlock_text name;
    airlock_args args;
    EXPECT(airlock_graph_nodes(editor, 0, NULL), AIRLOCK_STATUS_NULL_POINTER);
    EXPECT(airlock_graph_nodes(editor, 77, &nodes), AIRLOCK_STATUS_OK);
    if (nodes.len != 0) return 1;
    EXPECT(airlock_graph_nodes(editor, 0, &nodes), AIRLOCK_STATUS_OK);
    if (nodes.len != 6) return 1;
    EXPECT(airlock_graph_name(editor, UINT64_MAX, &name), AIRLOCK_STATUS_REFUSED);
    if (airlock_last_error()->code != AIRLOCK_EDIT_CODE_STALE) return 1;
    EXPECT(airlock_graph_name(editor, nodes.items[1], &name), AIRLOCK_STATUS_OK);
    if (strcmp((const char *)name.ptr, "mul") != 0) return 1;
    const uint8_t no_utf8[] = {0xff, 0xfe};
    EXPECT(airlock_graph_find(editor, 0, (airlock_text){no_utf8, 2}, &found), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_graph_find(editor, 0, (airlock_text){NULL, 5}, &found), AIRLOCK_STATUS_NULL_POINTER);
    EXPECT(airlock_graph_find(editor, 0, (airlock_text){no_utf8, SIZE_MAX}, &found), AIRLOCK_STATUS_BAD_INPUT);
    int32_t known;
    airlock_dim one = {{NULL, 0}, 1};
    EXPECT(airlock_graph_known(editor, one, 9, one, &known), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_graph_known(editor, one, AIRLOCK_RELATION_EQUAL, one, &known), AIRLOCK_STATUS_OK);
    if (known != 1) return 1;

    EXPECT(airlock_graph_erase(editor, nodes.items[1]), AIRLOCK_STATUS_REFUSED);
    if (airlock_last_error()->code != AIRLOCK_EDIT_CODE_STILL_USED || airlock_last_error()->node != nodes.items[1]) return 1;
    EXPECT(airlock_graph_move_node(editor, nodes.items[1], (airlock_point){44, 0, 0}), AIRLOCK_STATUS_BAD_INPUT);
    uint64_t made;
    EXPECT(airlock_graph_insert(editor, NULL, &made), AIRLOCK_STATUS_NULL_POINTER);
    airlock_scalar scalar = {1000, 0, 0, 0, 0, {NULL, 0}};
    airlock_arg arg = {&scalar, 1, 0};
    EXPECT(airlock_graph_set_args(editor, nodes.items[1], (airlock_args){&arg, 1}, (airlock_named_args){NULL, 0}), AIRLOCK_STATUS_BAD_INPUT);
    arg.len = 0;
    EXPECT(airlock_graph_set_args(editor, nodes.items[1], (airlock_args){&arg, 1}, (airlock_named_args){NULL, 0}), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_graph_set_args(editor, nodes.items[1], (airlock_args){NULL, 3}, (airlock_named_args){NULL, 0}), AIRLOCK_STATUS_NULL_POINTER);
    EXPECT(airlock_graph_annotate(editor, nodes.items[1], airlock_str("airlock.own"), airlock_str("x")), AIRLOCK_STATUS_REFUSED);
    airlock_edit edits[2];
    memset(edits, 0, sizeof edits);
    edits[0].kind = AIRLOCK_EDIT_KIND_ANNOTATE;
    edits[0].node = nodes.items[1];
    edits[0].key = airlock_str("mine");
    edits[0].value = airlock_str("seen");
    edits[1].kind = AIRLOCK_EDIT_KIND_ERASE;
    edits[1].node = nodes.items[1];
    EXPECT(airlock_graph_apply(editor, edits, 2, &found), AIRLOCK_STATUS_REFUSED);
    if (airlock_last_error()->index != 1) return 1;
    EXPECT(airlock_graph_annotation(editor, nodes.items[1], airlock_str("mine"), &name), AIRLOCK_STATUS_OK);
    if (name.ptr != NULL) return 1;
    edits[1].kind = 99;
    EXPECT(airlock_graph_apply(editor, edits, 2, NULL), AIRLOCK_STATUS_BAD_INPUT);

    // A wrong edit is refused by the judge, and the model is what it was.
    EXPECT(airlock_graph_args(editor, nodes.items[1], &args), AIRLOCK_STATUS_OK);
    EXPECT(airlock_graph_set_target(editor, nodes.items[1], airlock_str("aten.sub.Tensor")), AIRLOCK_STATUS_OK);
    EXPECT(airlock_editor_judge(editor, &report), AIRLOCK_STATUS_OK);
    airlock_report_view view;
    EXPECT(airlock_report_read(report, &view), AIRLOCK_STATUS_OK);
    if (view.outcome != AIRLOCK_OUTCOME_REFUSED || view.verdict != AIRLOCK_VERDICT_REFUTED || view.reason.len == 0) return 1;
    EXPECT(airlock_graph_nodes(editor, 0, &nodes), AIRLOCK_STATUS_BAD_HANDLE);
    EXPECT(airlock_editor_judge(editor, &report), AIRLOCK_STATUS_BAD_HANDLE);
    EXPECT(airlock_free(report), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(editor), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(editor), AIRLOCK_STATUS_BAD_HANDLE);

    // Edits that nobody judged are taken back.
    EXPECT(airlock_editor_open(model, &editor), AIRLOCK_STATUS_OK);
    EXPECT(airlock_graph_nodes(editor, 0, &nodes), AIRLOCK_STATUS_OK);
    EXPECT(airlock_graph_set_target(editor, nodes.items[1], airlock_str("aten.sub.Tensor")), AIRLOCK_STATUS_OK);
    EXPECT(airlock_editor_release(editor), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(editor), AIRLOCK_STATUS_OK);
    EXPECT(airlock_editor_open(model, &editor), AIRLOCK_STATUS_OK);
    EXPECT(airlock_graph_find(editor, 0, airlock_str("aten.mul.Tensor"), &found), AIRLOCK_STATUS_OK);
    if (found.len != 1) return 1;
    EXPECT(airlock_editor_judge(editor, &report), AIRLOCK_STATUS_OK);
    EXPECT(airlock_report_read(report, &view), AIRLOCK_STATUS_OK);
    if (view.outcome != AIRLOCK_OUTCOME_UNCHANGED) return 1;
    EXPECT(airlock_free(report), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(editor), AIRLOCK_STATUS_OK);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    airlock_id host, nowhere, model, pass, report;
    airlock_options options;
    memset(&options, 0, sizeof options);
    options.worker = airlock_str(argv[1]);
    airlock_text model_file = airlock_str(argv[2]), pass_file = airlock_str(argv[3]);

    EXPECT(airlock_open(AIRLOCK_VERSION, &options, NULL), AIRLOCK_STATUS_NULL_POINTER);
    EXPECT(airlock_open(AIRLOCK_VERSION + 1, &options, &host), AIRLOCK_STATUS_WRONG_VERSION);
    EXPECT(airlock_open(AIRLOCK_VERSION, NULL, &nowhere), AIRLOCK_STATUS_OK);
    options.policy = airlock_str("whatever");
    EXPECT(airlock_open(AIRLOCK_VERSION, &options, &host), AIRLOCK_STATUS_BAD_INPUT);
    options.policy = airlock_str(NULL);
    options.worker = airlock_str("/no/such/program");
    EXPECT(airlock_open(AIRLOCK_VERSION, &options, &host), AIRLOCK_STATUS_BAD_FILE);
    options.worker = airlock_str(argv[1]);
    EXPECT(airlock_open(AIRLOCK_VERSION, &options, &host), AIRLOCK_STATUS_OK);

    EXPECT(airlock_model_load(0, model_file, &model), AIRLOCK_STATUS_BAD_HANDLE);
    EXPECT(airlock_model_load(12345, model_file, &model), AIRLOCK_STATUS_BAD_HANDLE);
    EXPECT(airlock_model_load(host, airlock_str(NULL), &model), AIRLOCK_STATUS_NULL_POINTER);
    EXPECT(airlock_model_load(host, airlock_str("/no/such.fx"), &model), AIRLOCK_STATUS_BAD_FILE);
    EXPECT(airlock_model_load(host, pass_file, &model), AIRLOCK_STATUS_BAD_FILE);
    EXPECT(airlock_model_load(host, model_file, &model), AIRLOCK_STATUS_OK);
    EXPECT(airlock_pass_load(nowhere, pass_file, &pass), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_pass_load(host, model_file, &pass), AIRLOCK_STATUS_BAD_FILE);
    EXPECT(airlock_pass_load(host, pass_file, &pass), AIRLOCK_STATUS_OK);
    EXPECT(airlock_pass_grant(pass, airlock_str("everything")), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_pass_set_stage(pass, airlock_str("late")), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_run(pass, model, &report), AIRLOCK_STATUS_WRONG_KIND);
    if (!strstr((const char *)airlock_last_error()->message.ptr, "a pass, a model was expected")) return 1;
    EXPECT(airlock_run(model, pass, NULL), AIRLOCK_STATUS_NULL_POINTER);
    EXPECT(airlock_lower(model, airlock_str("x.unknown"), &report), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_model_write(model, airlock_str("x.unknown")), AIRLOCK_STATUS_BAD_INPUT);
    EXPECT(airlock_model_write(model, airlock_str("/no/such/folder/x.fx")), AIRLOCK_STATUS_BAD_FILE);

    // What an object was made with lasts as long as it does.
    EXPECT(airlock_free(host), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(host), AIRLOCK_STATUS_BAD_HANDLE);
    EXPECT(airlock_run(model, pass, &report), AIRLOCK_STATUS_OK);
    airlock_report_view view;
    EXPECT(airlock_report_read(report, NULL), AIRLOCK_STATUS_NULL_POINTER);
    EXPECT(airlock_report_read(model, &view), AIRLOCK_STATUS_WRONG_KIND);
    EXPECT(airlock_report_read(report, &view), AIRLOCK_STATUS_OK);
    if (view.outcome != AIRLOCK_OUTCOME_REFUSED) return 1;
    if (memchr(view.text.ptr, '\033', view.text.len)) return 1;
    EXPECT(airlock_free(report), AIRLOCK_STATUS_OK);

    // The id of what was freed is never one of something else.
    airlock_id again = 0;
    EXPECT(airlock_run(model, pass, &again), AIRLOCK_STATUS_OK);
    if (again == report) return 1;
    EXPECT(airlock_report_read(report, &view), AIRLOCK_STATUS_BAD_HANDLE);
    EXPECT(airlock_free(again), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(0), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(UINT64_MAX), AIRLOCK_STATUS_BAD_HANDLE);

    if (editing(model)) {
        fprintf(stderr, "editing: %s\n", (const char *)airlock_last_error()->message.ptr);
        return 1;
    }
    EXPECT(airlock_free(nowhere), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(pass), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(model), AIRLOCK_STATUS_OK);
    EXPECT(airlock_free(model), AIRLOCK_STATUS_BAD_HANDLE);
    puts("every misuse was an error");
    return 0;
}
