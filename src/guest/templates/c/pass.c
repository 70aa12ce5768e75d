/* A pass: negating twice is the identity. */

#include <airlock.h>

AL_PASS("NAME", "0.1.0", "Removes double negations")

#define NEG "aten.neg.default"

al_error al_run(al_graph graph, al_outcome *outcome) {
    size_t edits = 0;
    al_nodes negs = al_find(graph, NEG);
    for (size_t i = 0; i < negs.len; i++) {
        al_node outer = negs.ptr[i], inner, value;
        AL_TRY(al_input(outer, 0, &inner));
        if (!al_is_call(inner, NEG)) continue;
        AL_TRY(al_input(inner, 0, &value));
        AL_TRY(al_replace_all_uses(outer, value));
        AL_TRY(al_erase(outer));
        edits++;
    }
    *outcome = al_edits(edits);
    return AL_OK;
}
