#include "pattern.hpp"

#include <algorithm>

using namespace airlock;

constexpr const char *ADD = "aten.add.Tensor";
constexpr const char *MUL = "aten.mul.Tensor";
constexpr const char *RMS_NORM = "npu.npu_rms_norm.default";
constexpr const char *GETITEM = "_operator.getitem";
constexpr double DEFAULT_EPSILON = 1e-6;

using Arguments = Range<al_arg, Argument>;

static std::optional<Node> node_at(const Arguments &args, std::size_t i) {
    return i < args.size() ? args[i].node() : std::nullopt;
}

/// A positional argument, or else the keyword argument of a name.
static std::optional<Argument> argument(const Arguments &args, std::size_t i, std::span<const al_kwarg> kwargs, const char *name) {
    if (i < args.size()) return args[i];
    for (const al_kwarg &kwarg : kwargs) {
        if (al_eq(kwarg.name, name)) return Argument(kwarg.value);
    }
    return std::nullopt;
}

Result<std::optional<Add>> residual_add(Node sum) {
    using Found = std::optional<Add>;
    if (!sum.is_call(ADD)) return Found();
    AIRLOCK_TRY(kwargs, sum.kwargs());
    for (const al_kwarg &kwarg : kwargs) {
        if (!al_eq(kwarg.name, "alpha") || Argument(kwarg.value).number() != 1.0) return Found();
    }
    AIRLOCK_TRY(args, sum.args());
    auto x1 = node_at(args, 0), x2 = node_at(args, 1);
    if (args.size() != 2 || !x1 || !x2) return Found();
    AIRLOCK_TRY(a, x1->tensor_type());
    AIRLOCK_TRY(b, x2->tensor_type());
    bool same = a && b && a->dtype() == b->dtype() && a->same_sizes(*b);
    return same ? Found(Add{*x1, *x2}) : Found();
}

/// `npu_rms_norm`, if nothing but its results is used.
static Result<std::optional<Norm>> fused_norm(Node node) {
    using Found = std::optional<Norm>;
    AIRLOCK_TRY(args, node.args());
    AIRLOCK_TRY(kwargs, node.kwargs());
    auto input = node_at(args, 0), gamma = node_at(args, 1);
    auto given = argument(args, 2, kwargs, "epsilon");
    auto epsilon = given ? given->number() : DEFAULT_EPSILON;
    if (!input || !gamma || !epsilon) return Found();
    Norm norm{*input, *gamma, *epsilon, {}, {}, {node}};
    AIRLOCK_TRY(users, node.users());
    for (Node user : users) {
        if (!user.is_call(GETITEM)) return Found();
        AIRLOCK_TRY(item, user.args());
        auto index = item.size() > 1 ? item[1].integer() : std::nullopt;
        if (index != 0 && index != 1) return Found();
        (index == 0 ? norm.outputs : norm.rstds).push_back(user);
    }
    return Found(norm);
}

struct Shifted {
    Node sum, mean;
    double epsilon;
};

/// `rsqrt`'s operand `add(mean, eps)`.
static Result<std::optional<Shifted>> mean_plus_epsilon(Node rsqrt) {
    using Found = std::optional<Shifted>;
    AIRLOCK_TRY(sum, rsqrt.input(0));
    if (!sum.is_call(ADD) && !sum.is_call("aten.add.Scalar")) return Found();
    AIRLOCK_TRY(kwargs, sum.kwargs());
    AIRLOCK_TRY(args, sum.args());
    auto mean = node_at(args, 0);
    if (!kwargs.empty() || args.size() != 2 || !mean || !args[1].number() || !mean->is_call("aten.mean.dim")) return Found();
    return Found(Shifted{sum, *mean, *args[1].number()});
}

/// What is squared by `pow(x, 2)` or `mul(x, x)`.
static Result<std::optional<Node>> squared(Node square) {
    AIRLOCK_TRY(args, square.args());
    auto x = node_at(args, 0);
    bool is = args.size() == 2 && x &&
              ((square.is_call("aten.pow.Tensor_Scalar") && args[1].number() == 2.0) || (square.is_call(MUL) && args[1].node() == x));
    return is ? x : std::nullopt;
}

/// The other factor, if `product` is one of `factor` and another node.
static Result<std::optional<Node>> other_factor(Node product, Node factor) {
    using Found = std::optional<Node>;
    if (!product.is_call(MUL)) return Found();
    AIRLOCK_TRY(args, product.args());
    auto a = node_at(args, 0), b = node_at(args, 1);
    if (!a || !b || *a == *b) return Found();
    return *a == factor ? b : *b == factor ? a : Found();
}

struct Scaled {
    Node product, result, gamma;
};

/// `mul(mul(x, rsqrt), gamma)` with either order of operands.
static Result<std::optional<Scaled>> scaled_by_gamma(Node rsqrt, Node x) {
    using Found = std::optional<Scaled>;
    AIRLOCK_TRY(users, rsqrt.users());
    for (Node product : users) {
        AIRLOCK_TRY(factor, other_factor(product, rsqrt));
        if (factor != x) continue;
        AIRLOCK_TRY(results, product.users());
        if (results.size() != 1) continue;
        AIRLOCK_TRY(gamma, other_factor(results[0], product));
        if (gamma) return Found(Scaled{product, results[0], *gamma});
    }
    return Found();
}

/// Whether the mean keeps its dimensions and is over the last ones, as many as `gamma` has, which have `gamma`'s sizes.
static Result<bool> is_over_dimensions_of(Node mean, const TensorType &x, const TensorType &gamma) {
    AIRLOCK_TRY(args, mean.args());
    AIRLOCK_TRY(kwargs, mean.kwargs());
    auto keeps = argument(args, 2, kwargs, "keepdim");
    auto dtype = argument(args, SIZE_MAX, kwargs, "dtype");
    if (!keeps || keeps->boolean() != true || (dtype && !dtype->is_none())) return false;
    auto sizes = x.sizes(), own = gamma.sizes();
    if (args.size() < 2 || !args[1].is_list() || own.size() > sizes.size() || own.empty()) return false;
    std::size_t outer = sizes.size() - own.size();
    std::vector<std::int64_t> dims;
    for (const al_scalar &dim : args[1].scalars()) {
        if (dim.tag != AIRLOCK_PASS_TYPES_SCALAR_INT) return false;
        dims.push_back(dim.val.int_ < 0 ? dim.val.int_ + static_cast<std::int64_t>(sizes.size()) : dim.val.int_);
    }
    std::sort(dims.begin(), dims.end());
    if (dims.size() != own.size()) return false;
    for (std::size_t i = 0; i < dims.size(); i++) {
        if (dims[i] != static_cast<std::int64_t>(outer + i) || sizes[outer + i].known(AL_EQUAL, own[i]) != true) return false;
    }
    return true;
}

static Result<bool> all_used_once(std::initializer_list<Node> nodes) {
    for (Node node : nodes) {
        AIRLOCK_TRY(users, node.users());
        if (users.size() != 1) return false;
    }
    return true;
}

/// The norm that this `rsqrt` is in the middle of.
static Result<std::optional<Norm>> written_out(Node rsqrt) {
    using Found = std::optional<Norm>;
    AIRLOCK_TRY(shifted, mean_plus_epsilon(rsqrt));
    if (!shifted) return Found();
    AIRLOCK_TRY(square, shifted->mean.input(0));
    AIRLOCK_TRY(input, squared(square));
    if (!input) return Found();
    AIRLOCK_TRY(scaled, scaled_by_gamma(rsqrt, *input));
    if (!scaled) return Found();
    AIRLOCK_TRY(x, input->tensor_type());
    AIRLOCK_TRY(gamma, scaled->gamma.tensor_type());
    if (!x || !gamma || x->dtype() != "f32" || gamma->dtype() != "f32") return Found();
    AIRLOCK_TRY(over, is_over_dimensions_of(shifted->mean, *x, *gamma));
    if (!over) return Found();
    AIRLOCK_TRY(once, all_used_once({scaled->product, shifted->sum, shifted->mean, square}));
    if (!once) return Found();
    Norm norm{*input, scaled->gamma, shifted->epsilon, {scaled->result}, {}, {scaled->product}};
    // Where rsqrt is used elsewhere its uses become rstd, and it goes with them.
    AIRLOCK_TRY(users, rsqrt.users());
    (users.size() > 1 ? norm.rstds : norm.inner).push_back(rsqrt);
    norm.inner.insert(norm.inner.end(), {shifted->sum, shifted->mean, square});
    return Found(norm);
}

Result<std::vector<Norm>> find_norms(Graph graph) {
    std::vector<Norm> norms;
    for (Node node : graph.find(RMS_NORM)) {
        AIRLOCK_TRY(norm, fused_norm(node));
        if (norm) norms.push_back(*norm);
    }
    for (Node rsqrt : graph.find("aten.rsqrt.default")) {
        AIRLOCK_TRY(norm, written_out(rsqrt));
        if (norm) norms.push_back(*norm);
    }
    return norms;
}
