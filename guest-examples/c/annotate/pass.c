/* Writes a note on the calls of an operator: what options are, and what a log is for.
 *
 * Options: `target` names the operator, `note` is the text, `limit` bounds how many calls get one. The run's text, where there
 * is one, stands before the note. */

#include <airlock.h>

AL_PASS("annotate", "0.1.0", "Writes a note on the calls of an operator")

#define KEY "annotate.note"

/* The value of an option as a C string. */
static const char *option(const char *key, const char *otherwise) {
    al_text value;
    if (!al_option(key, &value)) return otherwise;
    return (const char *)al_format("%.*s", AL_FMT(value)).ptr;
}

al_error al_run(al_graph graph, al_outcome *outcome) {
    (void)graph;
    const char *target = option("target", "aten.mm.default"), *note = option("note", "seen");
    bool is_limited;
    int64_t limit = 0;
    AL_TRY(al_option_int("limit", &is_limited, &limit));
    if (limit < 0) return al_fail("option `limit` is below 0");
    al_debug("stage %.*s, mode %.*s", AL_FMT(al_stage()), AL_FMT(al_mode()));
    al_text config = al_config();
    if (config.len) note = (const char *)al_format("%.*s: %s", AL_FMT(config), note).ptr;

    size_t calls = 0, written = 0;
    al_graphs graphs = al_all_graphs();
    for (size_t g = 0; g < graphs.len; g++) {
        al_nodes found = al_find(graphs.ptr[g], target);
        for (size_t i = 0; i < found.len; i++, calls++) {
            if (is_limited && written >= (uint64_t)limit) continue;
            AL_TRY(al_annotate(found.ptr[i], KEY, note));
            written++;
        }
    }
    al_inform("%zu of %zu calls of %s have the note", written, calls, target);
    if (written < calls) al_warn("%zu calls are beyond the limit", calls - written);
    *outcome = al_edits(written);
    return AL_OK;
}
