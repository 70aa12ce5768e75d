#include "graph.h"

#include <stdlib.h>

struct place {
    al_node node;
    size_t index;
};

static int by_node(const void *a, const void *b) {
    al_node x = ((const struct place *)a)->node, y = ((const struct place *)b)->node;
    return (x > y) - (x < y);
}

al_error view_graph(al_graph graph, graph_view *view) {
    view->columns = al_read_columns(graph);
    al_nodes ids = view->columns.ids;
    AL_TRY(al_effects_of(ids, &view->effects));
    view->places = al_alloc(ids.len * sizeof *view->places);
    for (size_t i = 0; i < ids.len; i++) view->places[i] = (struct place){ids.ptr[i], i};
    qsort(view->places, ids.len, sizeof *view->places, by_node);
    return AL_OK;
}

size_t index_of(const graph_view *view, al_node node) {
    struct place wanted = {node, 0};
    const struct place *found = bsearch(&wanted, view->places, view->columns.ids.len, sizeof wanted, by_node);
    return found ? found->index : NOWHERE;
}

static void visit_operand(const graph_view *view, uint64_t operand, uint32_t parameter, visit_node visit, void *context) {
    if (operand < LITERAL) {
        visit(context, operand, parameter);
        return;
    }
    const al_arg *literal = &view->columns.literals.ptr[operand - LITERAL];
    for (size_t i = 0; i < al_scalar_count(literal); i++) {
        const al_scalar *item = al_scalar_at(literal, i);
        if (item->tag == AIRLOCK_PASS_TYPES_SCALAR_NODE) visit(context, item->val.node, parameter);
    }
}

void visit_inputs(const graph_view *view, size_t index, visit_node visit, void *context) {
    const al_columns *columns = &view->columns;
    const al_effects *does = al_effects_at(&view->effects, index);
    uint32_t first = columns->starts.ptr[index];
    for (uint32_t i = first; i < columns->starts.ptr[index + 1]; i++) {
        visit_operand(view, columns->operands.ptr[i], i - first, visit, context);
    }
    for (uint32_t i = columns->kw_starts.ptr[index]; i < columns->kw_starts.ptr[index + 1]; i++) {
        uint32_t parameter = al_parameter(does, columns->texts.ptr[columns->kw_names.ptr[i]]);
        visit_operand(view, columns->kw_operands.ptr[i], parameter, visit, context);
    }
}
