/* One graph as the pass sees it: its columns, what its calls do, and where each node stands. */
#ifndef DEDUP_GRAPH_H
#define DEDUP_GRAPH_H

#include <airlock.h>

#define LITERAL (UINT64_C(1) << 63)
#define NOWHERE SIZE_MAX

typedef struct {
    al_columns columns;
    al_effects_table effects;
    struct place *places;
} graph_view;

al_error view_graph(al_graph graph, graph_view *view);
/* The position of a node, or NOWHERE. */
size_t index_of(const graph_view *view, al_node node);

/* Calls `visit` with each node that an operand is or has in its list. */
typedef void (*visit_node)(void *context, al_node node, uint32_t parameter);
void visit_inputs(const graph_view *view, size_t index, visit_node visit, void *context);

#endif
