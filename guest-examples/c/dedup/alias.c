#include "alias.h"

#include <string.h>

typedef struct {
    const graph_view *view;
    const al_effects *does;
    alias_mark *marks;
    alias_mark own;
    bool is_output;
} walk;

static void hand_on(void *context, al_node node, uint32_t parameter) {
    walk *w = context;
    size_t at = index_of(w->view, node);
    if (at == NOWHERE) return;
    alias_mark *mark = &w->marks[at];
    mark->returned |= w->is_output;
    mark->written |= al_may_write(w->does, parameter);
    if (al_may_share(w->does, parameter)) {
        mark->written |= w->own.written;
        mark->returned |= w->own.returned;
    }
}

alias_mark *alias_marks(const graph_view *view) {
    size_t len = view->columns.ids.len;
    walk w = {.view = view, .marks = memset(al_alloc(len * sizeof(alias_mark)), 0, len * sizeof(alias_mark))};
    for (size_t i = len; i-- > 0;) {
        w.does = al_effects_at(&view->effects, i);
        w.own = w.marks[i];
        w.is_output = view->columns.kinds.ptr[i] == AL_OUTPUT;
        visit_inputs(view, i, hand_on, &w);
    }
    return w.marks;
}
