// A pass that edits and then never ends. It must be stopped, and its edits must be gone.

#include <airlock.hpp>

using namespace airlock;

static Result<std::size_t> run(Graph graph) {
    auto label = Argument::list({"_user_stream_label"});
    AIRLOCK_CHECK(graph.inserting_at_start().call_function("air.scope_enter.default", {label, Argument::list({"never_left"})}));
    for (volatile std::size_t busy = 0;;) busy = busy + 1;
}

AIRLOCK_PASS("endless", "0.1.0", "Edits and never ends, for tests: must be stopped", run)
