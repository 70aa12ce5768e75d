// Fuses a residual add and the rms-norm of its sum into one operator of the NPU. `pattern` finds norms, this file replaces them.

#include "pattern.hpp"

using namespace airlock;

static Result<bool> erase_unused(Node node) {
    AIRLOCK_TRY(users, node.users());
    if (users.empty()) AIRLOCK_CHECK(node.erase());
    return users.empty();
}

static Result<void> replace(const std::vector<Node> &old, Node other) {
    for (Node node : old) {
        AIRLOCK_CHECK(node.replace_all_uses_with(other));
        AIRLOCK_CHECK(erase_unused(node));
    }
    return {};
}

/// Replaces add and norm; false where the fused operator has no place: `gamma` is made after the sum is used.
static Result<bool> fuse(Graph graph, const Norm &norm, const Add &add) {
    Node sum = norm.input;
    AIRLOCK_TRY(gamma_is_later, sum.is_before(norm.gamma));
    Node last = gamma_is_later ? norm.gamma : sum;
    AIRLOCK_TRY(users, sum.users());
    for (Node user : users) {
        AIRLOCK_TRY(earlier, user.is_before(last));
        if (earlier || user == last) return false;
    }
    InsertionPoint at = graph.inserting_after(last);
    AIRLOCK_TRY(fused, at.call_function("npu.npu_add_rms_norm.default", {add.x1, add.x2, norm.gamma, norm.epsilon}));
    auto item = [&](int index) { return at.call_function("_operator.getitem", {fused, index}); };
    AIRLOCK_TRY(output, item(0));
    AIRLOCK_CHECK(replace(norm.outputs, output));
    if (!norm.rstds.empty()) {
        AIRLOCK_TRY(rstd, item(1));
        AIRLOCK_CHECK(replace(norm.rstds, rstd));
    }
    for (Node node : norm.inner) AIRLOCK_CHECK(erase_unused(node));
    AIRLOCK_TRY(left, sum.users());
    if (!left.empty()) {
        AIRLOCK_TRY(kept, item(2));
        AIRLOCK_CHECK(sum.replace_all_uses_with(kept));
    }
    AIRLOCK_CHECK(sum.erase());
    return true;
}

static Result<std::size_t> run(Graph graph) {
    std::size_t fused = 0;
    AIRLOCK_TRY(norms, find_norms(graph));
    for (const Norm &norm : norms) {
        AIRLOCK_TRY(add, residual_add(norm.input));
        if (!add) continue;
        AIRLOCK_TRY(is_fused, fuse(graph, norm, *add));
        fused += is_fused;
    }
    return fused;
}

AIRLOCK_PASS("add-rms-norm", "0.1.0", "Fuses a residual add and an rms-norm into npu_add_rms_norm", run)
