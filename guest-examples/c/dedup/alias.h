/* Which values may be written, and which the graph returns: both also through views. */
#ifndef DEDUP_ALIAS_H
#define DEDUP_ALIAS_H

#include "graph.h"

typedef struct {
    bool written;
    bool returned;
} alias_mark;

/* One walk backwards: what a call writes, and what the output returns, is marked; a call whose result may lie in an operand's
 * memory hands its marks on to that operand. One mark a node, in the arena. */
alias_mark *alias_marks(const graph_view *view);

#endif
