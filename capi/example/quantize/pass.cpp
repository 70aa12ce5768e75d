// What the custom pass of Torch-AIE's document does, as a pass that is judged: mul, add, round and clamp become one quantisation.
//
// There a pattern is registered, and its converter makes a layer of the network whose result is int8 where the pattern's is a float:
// another function, which is refused here. With the option `cast=back` the result is made a float again. What the document leaves to its
// author is checked: that clamp is to the range of int8, that nobody else uses what is inside.

#include <airlock.hpp>

using namespace airlock;

/// A number among the arguments.
static std::optional<double> number(const Range<al_arg, Argument> &args, std::size_t i) {
    return i < args.size() ? args[i].number() : std::nullopt;
}

/// The only argument of a call that is a node, if the call is of that operator and nobody but `user` uses it.
static Result<std::optional<Node>> inside(Node node, const char *target) {
    using Found = std::optional<Node>;
    if (!node.is_call(target)) return Found();
    AIRLOCK_TRY(users, node.users());
    return users.size() == 1 ? Found(node) : Found();
}

/// Replaces one clamp with what it is of; false where it is of something else.
static Result<bool> replace(Graph graph, Node clamp) {
    AIRLOCK_TRY(bounds, clamp.args());
    if (bounds.size() != 3 || number(bounds, 1) != -128.0 || number(bounds, 2) != 127.0) return false;
    AIRLOCK_TRY(rounded, clamp.input(0));
    AIRLOCK_TRY(round, inside(rounded, "aten.round.default"));
    if (!round) return false;
    AIRLOCK_TRY(sum, round->input(0));
    AIRLOCK_TRY(add, inside(sum, "aten.add.Tensor"));
    if (!add) return false;
    AIRLOCK_TRY(addends, add->args());
    AIRLOCK_TRY(product, add->input(0));
    AIRLOCK_TRY(mul, inside(product, "aten.mul.Tensor"));
    if (!mul) return false;
    AIRLOCK_TRY(factors, mul->args());
    auto offset = number(addends, 1), scale = number(factors, 1);
    AIRLOCK_TRY(input, mul->input(0));
    if (!offset || !scale) return false;

    auto one = Argument::list({1});
    InsertionPoint at = graph.inserting_before(clamp);
    AIRLOCK_TRY(scales, at.call_function("aten.full.default", {one, *scale}));
    AIRLOCK_TRY(offsets, at.call_function("aten.full.default", {one, *offset}));
    // The dtype is ACL's number of int8, the axis the last one; `div_mode` is false, as the pattern multiplies.
    AIRLOCK_TRY(quantized, at.call_function("npu.npu_quantize.default", {input, scales, offsets, 1, -1, false}));
    Node result = quantized;
    if (auto cast = option("cast"); cast && *cast == "back") {
        AIRLOCK_TRY(back, at.call_function("npu._npu_dtype_cast.default", {quantized, Argument::dtype("float32")}));
        result = back;
    }
    AIRLOCK_CHECK(clamp.replace_all_uses_with(result));
    for (Node node : {clamp, *round, *add, *mul}) AIRLOCK_CHECK(node.erase());
    return true;
}

static Result<std::size_t> run(Graph graph) {
    std::size_t replaced = 0;
    for (Node clamp : graph.find("aten.clamp.default")) {
        AIRLOCK_TRY(is, replace(graph, clamp));
        replaced += is;
    }
    return replaced;
}

AIRLOCK_PASS("quantize", "0.1.0", "Makes mul, add, round and clamp one quantisation", run)
