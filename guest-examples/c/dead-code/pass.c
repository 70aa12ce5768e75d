/* Dead code: a call that nobody uses, and that does nothing but compute, is erased. One walk backwards over each graph. */

#include <airlock.h>
#include <stdlib.h>
#include <string.h>

AL_PASS("dead-code", "0.1.0", "Erases calls that nobody uses")

#define BATCH 4096
#define LITERAL (UINT64_C(1) << 63)

/* Where nodes stand in the columns: node to index, sorted by node. */
typedef struct {
    al_node node;
    size_t index;
} place;

static int by_node(const void *a, const void *b) {
    al_node x = ((const place *)a)->node, y = ((const place *)b)->node;
    return (x > y) - (x < y);
}

static place *places_of(al_nodes ids) {
    place *places = al_alloc(ids.len * sizeof *places);
    for (size_t i = 0; i < ids.len; i++) places[i] = (place){ids.ptr[i], i};
    qsort(places, ids.len, sizeof *places, by_node);
    return places;
}

static void mark(const al_columns *columns, const place *places, al_node node, bool *is_used) {
    place wanted = {node, 0};
    const place *found = bsearch(&wanted, places, columns->ids.len, sizeof *places, by_node);
    if (found) is_used[found->index] = true;
}

static void mark_operand(const al_columns *columns, const place *places, uint64_t operand, bool *is_used) {
    if (operand < LITERAL) {
        mark(columns, places, operand, is_used);
        return;
    }
    const al_arg *literal = &columns->literals.ptr[operand - LITERAL];
    for (size_t i = 0; i < al_scalar_count(literal); i++) {
        const al_scalar *item = al_scalar_at(literal, i);
        if (item->tag == AIRLOCK_PASS_TYPES_SCALAR_NODE) mark(columns, places, item->val.node, is_used);
    }
}

static void mark_inputs(const al_columns *columns, const place *places, size_t index, bool *is_used) {
    for (size_t i = columns->starts.ptr[index]; i < columns->starts.ptr[index + 1]; i++) {
        mark_operand(columns, places, columns->operands.ptr[i], is_used);
    }
    for (size_t i = columns->kw_starts.ptr[index]; i < columns->kw_starts.ptr[index + 1]; i++) {
        mark_operand(columns, places, columns->kw_operands.ptr[i], is_used);
    }
}

al_error al_run(al_graph graph, al_outcome *outcome) {
    (void)graph;
    al_batch batch = {0};
    size_t erased = 0;
    al_graphs graphs = al_all_graphs();
    for (size_t g = 0; g < graphs.len; g++) {
        al_columns columns = al_read_columns(graphs.ptr[g]);
        al_effects_table effects;
        AL_TRY(al_effects_of(columns.ids, &effects));
        place *places = places_of(columns.ids);
        bool *is_used = memset(al_alloc(columns.ids.len), 0, columns.ids.len);
        for (size_t i = columns.ids.len; i-- > 0;) {
            const al_effects *does = al_effects_at(&effects, i);
            if (columns.kinds.ptr[i] != AL_CALL || is_used[i] || !does->pure || does->may_raise) {
                mark_inputs(&columns, places, i, is_used);
                continue;
            }
            al_batch_erase(&batch, columns.ids.ptr[i]);
            erased++;
            if (batch.len >= BATCH) AL_TRY(al_batch_apply(&batch, NULL));
        }
    }
    AL_TRY(al_batch_apply(&batch, NULL));
    *outcome = al_edits(erased);
    return AL_OK;
}
