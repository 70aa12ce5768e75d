/* A pass that is wrong: its result is well formed and computes something else. It must be refused. It swaps the operands of
 * the first `sub`; in a graph without one it turns the first `add` into a `sub`. */

#include <airlock.h>

AL_PASS("broken", "0.1.0", "Changes what the model computes, for tests: must be refused")

/* Only two different nodes: a number cannot stand first, and `x - x` would stay right. */
static al_error swap_operands(al_node sub, bool *swapped) {
    al_args args;
    al_kwargs kwargs;
    al_node a, b;
    AL_TRY(al_args_of(sub, &args));
    *swapped = args.len >= 2 && al_as_node(&args.ptr[0], &a) && al_as_node(&args.ptr[1], &b) && a != b;
    if (!*swapped) return AL_OK;
    al_arg first = args.ptr[0];
    args.ptr[0] = args.ptr[1];
    args.ptr[1] = first;
    AL_TRY(al_kwargs_of(sub, &kwargs));
    return al_set_args(sub, args, kwargs);
}

al_error al_run(al_graph graph, al_outcome *outcome) {
    *outcome = al_edits(1);
    al_nodes subs = al_find(graph, "aten.sub.Tensor");
    for (size_t i = 0; i < subs.len; i++) {
        bool swapped;
        AL_TRY(swap_operands(subs.ptr[i], &swapped));
        if (swapped) return AL_OK;
    }
    al_nodes adds = al_find(graph, "aten.add.Tensor");
    if (adds.len == 0) return al_fail("there is no sub and no add to break");
    return al_set_target(adds.ptr[0], "aten.sub.Tensor");
}
