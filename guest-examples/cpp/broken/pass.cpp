// A pass that is wrong: its result is well formed and computes something else. It must be refused. It swaps the operands of the
// first `sub`; in a graph without one it turns the first `add` into a `sub`.

#include <airlock.hpp>

using namespace airlock;

/// Only two different nodes: a number cannot stand first, and `x - x` would stay right.
static Result<bool> swap_operands(Node sub) {
    AIRLOCK_TRY(args, sub.args());
    if (args.size() < 2 || !args[0].node() || !args[1].node() || args[0].node() == args[1].node()) return false;
    std::vector<Argument> swapped(args.begin(), args.end());
    std::swap(swapped[0], swapped[1]);
    AIRLOCK_TRY(kwargs, sub.kwargs());
    AIRLOCK_CHECK(sub.set_args(swapped, kwargs));
    return true;
}

static Result<std::size_t> run(Graph graph) {
    for (Node sub : graph.find("aten.sub.Tensor")) {
        AIRLOCK_TRY(swapped, swap_operands(sub));
        if (swapped) return 1;
    }
    for (Node add : graph.find("aten.add.Tensor")) {
        AIRLOCK_CHECK(add.set_target("aten.sub.Tensor"));
        return 1;
    }
    return Error::of("there is no sub and no add to break");
}

AIRLOCK_PASS("broken", "0.1.0", "Changes what the model computes, for tests: must be refused", run)
