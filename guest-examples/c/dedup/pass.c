/* Common subexpression elimination: what is computed twice from the same arguments is computed once.
 *
 * One walk over a graph in order: the second call with a key is replaced by the first. What each call does is asked of the
 * host; what is left alone, and why, the Rust pass of this name tells. */

#include <airlock.h>

#include "alias.h"
#include "keys.h"

AL_PASS("dedup", "0.1.0", "Computes once what is computed twice")

/* A batch is sent when it is this long: one call to the host carries a limited amount of data. */
#define BATCH 4096

/* What a call means for merging. */
typedef enum { PURE, SINGLE, BARRIER } meaning;

static meaning meaning_of(const al_effects *does) {
    bool is_order = does->side == AL_SIDE_OPAQUE || does->side == AL_SIDE_STREAM || does->side == AL_SIDE_RECORD;
    if (is_order || does->writes.len) return BARRIER;
    return does->pure ? PURE : SINGLE;
}

static al_error dedup(al_graph graph, size_t *merged) {
    graph_view view;
    AL_TRY(view_graph(graph, &view));
    alias_mark *marks = alias_marks(&view);
    key_table keys = new_keys(&view);
    al_batch batch = {0};
    for (size_t i = 0; i < view.columns.ids.len; i++) {
        if (view.columns.kinds.ptr[i] != AL_CALL) continue;
        meaning what = meaning_of(al_effects_at(&view.effects, i));
        keys.epoch += what == BARRIER;
        if (what != PURE || marks[i].written) continue;
        size_t first = first_with_key(&keys, &view, i);
        if (first == i || (marks[i].returned && marks[first].returned)) continue;
        marks[first].returned |= marks[i].returned;
        keys.kept[i] = first;
        al_batch_replace_all_uses(&batch, view.columns.ids.ptr[i], view.columns.ids.ptr[first]);
        al_batch_erase(&batch, view.columns.ids.ptr[i]);
        ++*merged;
        if (batch.len >= BATCH) AL_TRY(al_batch_apply(&batch, NULL));
    }
    return al_batch_apply(&batch, NULL);
}

al_error al_run(al_graph graph, al_outcome *outcome) {
    (void)graph;
    size_t merged = 0;
    al_graphs graphs = al_all_graphs();
    for (size_t g = 0; g < graphs.len; g++) AL_TRY(dedup(graphs.ptr[g], &merged));
    *outcome = al_edits(merged);
    return AL_OK;
}
