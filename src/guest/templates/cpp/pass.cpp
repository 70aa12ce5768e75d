// A pass: negating twice is the identity.

#include <airlock.hpp>

using namespace airlock;

constexpr const char *NEG = "aten.neg.default";

static Result<std::size_t> run(Graph graph) {
    std::size_t edits = 0;
    for (Node outer : graph.find(NEG)) {
        AIRLOCK_TRY(inner, outer.input(0));
        if (!inner.is_call(NEG)) continue;
        AIRLOCK_TRY(value, inner.input(0));
        AIRLOCK_CHECK(outer.replace_all_uses_with(value));
        AIRLOCK_CHECK(outer.erase());
        edits++;
    }
    return edits;
}

AIRLOCK_PASS("NAME", "0.1.0", "Removes double negations", run)
