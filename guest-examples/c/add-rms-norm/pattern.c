#include "pattern.h"

#include <stdlib.h>

#define ADD "aten.add.Tensor"
#define MUL "aten.mul.Tensor"
#define RMS_NORM "npu.npu_rms_norm.default"
#define GETITEM "_operator.getitem"
#define DEFAULT_EPSILON 1e-6

static al_nodes new_nodes(size_t room) { return (al_nodes){al_alloc(room * sizeof(al_node)), 0}; }

static void push(al_nodes *nodes, al_node node) { nodes->ptr[nodes->len++] = node; }

static bool node_at(al_args args, size_t index, al_node *node) {
    return index < args.len && al_as_node(&args.ptr[index], node);
}

al_error residual_add(al_node sum, al_node *x1, al_node *x2, bool *is) {
    *is = false;
    if (!al_is_call(sum, ADD)) return AL_OK;
    al_args args;
    al_kwargs kwargs;
    AL_TRY(al_kwargs_of(sum, &kwargs));
    for (size_t i = 0; i < kwargs.len; i++) {
        double alpha;
        if (!al_eq(kwargs.ptr[i].name, "alpha") || !al_as_float(&kwargs.ptr[i].value, &alpha) || alpha != 1) return AL_OK;
    }
    AL_TRY(al_args_of(sum, &args));
    if (args.len != 2 || !node_at(args, 0, x1) || !node_at(args, 1, x2)) return AL_OK;
    const al_tensor_type *a, *b;
    AL_TRY(al_tensor_type_of(*x1, &a));
    AL_TRY(al_tensor_type_of(*x2, &b));
    *is = a && b && al_same(a->dtype, b->dtype) && al_known_equal(a->sizes, b->sizes);
    return AL_OK;
}

/* `npu_rms_norm`, if nothing but its results is used. */
static al_error fused_norm(al_node node, norm *found, bool *is) {
    *is = false;
    al_args args;
    al_kwargs kwargs;
    AL_TRY(al_args_of(node, &args));
    AL_TRY(al_kwargs_of(node, &kwargs));
    *found = (norm){.epsilon = DEFAULT_EPSILON, .inner = new_nodes(1)};
    if (!node_at(args, 0, &found->input) || !node_at(args, 1, &found->gamma)) return AL_OK;
    const al_arg *epsilon = args.len > 2 ? &args.ptr[2] : al_kwarg_of(kwargs, "epsilon");
    if (epsilon && !al_as_float(epsilon, &found->epsilon)) return AL_OK;
    al_nodes users;
    AL_TRY(al_users(node, &users));
    found->outputs = new_nodes(users.len);
    found->rstds = new_nodes(users.len);
    for (size_t i = 0; i < users.len; i++) {
        al_args item;
        int64_t index = -1;
        if (!al_is_call(users.ptr[i], GETITEM)) return AL_OK;
        AL_TRY(al_args_of(users.ptr[i], &item));
        if (item.len < 2 || !al_as_int(&item.ptr[1], &index) || (index != 0 && index != 1)) return AL_OK;
        push(index == 0 ? &found->outputs : &found->rstds, users.ptr[i]);
    }
    push(&found->inner, node);
    *is = true;
    return AL_OK;
}

/* `rsqrt`'s operand `add(mean, eps)`: the add, the mean, eps. */
static al_error mean_plus_epsilon(al_node rsqrt, al_node *shifted, al_node *mean, double *epsilon, bool *is) {
    *is = false;
    AL_TRY(al_input(rsqrt, 0, shifted));
    al_args args;
    al_kwargs kwargs;
    if (!al_is_call(*shifted, ADD) && !al_is_call(*shifted, "aten.add.Scalar")) return AL_OK;
    AL_TRY(al_kwargs_of(*shifted, &kwargs));
    AL_TRY(al_args_of(*shifted, &args));
    *is = kwargs.len == 0 && args.len == 2 && node_at(args, 0, mean) && al_as_float(&args.ptr[1], epsilon) &&
          al_is_call(*mean, "aten.mean.dim");
    return AL_OK;
}

/* A square, `pow(x, 2)` or `mul(x, x)`: x. */
static al_error square_of(al_node square, al_node *x, bool *is) {
    al_args args;
    al_node other;
    double power;
    AL_TRY(al_args_of(square, &args));
    *is = args.len == 2 && node_at(args, 0, x) &&
          ((al_is_call(square, "aten.pow.Tensor_Scalar") && al_as_float(&args.ptr[1], &power) && power == 2) ||
           (al_is_call(square, MUL) && node_at(args, 1, &other) && other == *x));
    return AL_OK;
}

/* The other factor, if `product` is one of `factor` and another node; else AL_NO_NODE. */
static al_error other_factor(al_node product, al_node factor, al_node *other) {
    *other = AL_NO_NODE;
    if (!al_is_call(product, MUL)) return AL_OK;
    al_args args;
    al_node a, b;
    AL_TRY(al_args_of(product, &args));
    if (!node_at(args, 0, &a) || !node_at(args, 1, &b) || a == b) return AL_OK;
    if (a == factor) *other = b;
    if (b == factor) *other = a;
    return AL_OK;
}

/* `mul(mul(x, rsqrt), gamma)` with either order of operands: both products and gamma. */
static al_error scaled_by_gamma(al_node rsqrt, al_node x, al_node *scaled, al_node *result, al_node *gamma, bool *is) {
    *is = false;
    al_nodes users, scaled_users;
    AL_TRY(al_users(rsqrt, &users));
    for (size_t i = 0; i < users.len; i++) {
        al_node factor;
        AL_TRY(other_factor(users.ptr[i], rsqrt, &factor));
        if (factor != x) continue;
        AL_TRY(al_users(users.ptr[i], &scaled_users));
        if (scaled_users.len != 1) continue;
        AL_TRY(other_factor(scaled_users.ptr[0], users.ptr[i], gamma));
        if (*gamma == AL_NO_NODE) continue;
        *scaled = users.ptr[i];
        *result = scaled_users.ptr[0];
        *is = true;
        return AL_OK;
    }
    return AL_OK;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the mean keeps its dimensions and is over the last ones, as many as `gamma` has, which have `gamma`'s sizes. */
static al_error is_over_dimensions_of(al_node mean, al_dims x, al_dims gamma, bool *is) {
    *is = false;
    al_args args;
    al_kwargs kwargs;
    AL_TRY(al_args_of(mean, &args));
    AL_TRY(al_kwargs_of(mean, &kwargs));
    const al_arg *keepdim = args.len > 2 ? &args.ptr[2] : al_kwarg_of(kwargs, "keepdim");
    const al_arg *dtype = al_kwarg_of(kwargs, "dtype");
    bool keeps = false;
    bool converts = dtype && !(dtype->tag == AIRLOCK_PASS_TYPES_ARG_ONE && dtype->val.one.tag == AIRLOCK_PASS_TYPES_SCALAR_NONE);
    if (!keepdim || !al_as_bool(keepdim, &keeps) || !keeps || converts) return AL_OK;
    if (args.len < 2 || args.ptr[1].tag != AIRLOCK_PASS_TYPES_ARG_MANY || gamma.len > x.len) return AL_OK;
    size_t outer = x.len - gamma.len, count = al_scalar_count(&args.ptr[1]);
    if (gamma.len == 0 || count != gamma.len) return AL_OK;
    int64_t *dims = al_alloc(count * sizeof *dims);
    for (size_t i = 0; i < count; i++) {
        const al_scalar *dim = al_scalar_at(&args.ptr[1], i);
        if (dim->tag != AIRLOCK_PASS_TYPES_SCALAR_INT) return AL_OK;
        dims[i] = dim->val.int_ < 0 ? dim->val.int_ + (int64_t)x.len : dim->val.int_;
    }
    qsort(dims, count, sizeof *dims, by_size);
    for (size_t i = 0; i < count; i++) {
        if (dims[i] != (int64_t)(outer + i)) return AL_OK;
    }
    *is = al_known_equal((al_dims){x.ptr + outer, gamma.len}, gamma);
    return AL_OK;
}

static al_error all_used_once(al_nodes nodes, bool *once) {
    *once = true;
    for (size_t i = 0; i < nodes.len && *once; i++) {
        al_nodes users;
        AL_TRY(al_users(nodes.ptr[i], &users));
        *once = users.len == 1;
    }
    return AL_OK;
}

/* The norm that this `rsqrt` is in the middle of. */
static al_error written_out(al_node rsqrt, norm *found, bool *is) {
    al_node shifted, mean, square, scaled, result;
    *found = (norm){.outputs = new_nodes(1), .rstds = new_nodes(1), .inner = new_nodes(5)};
    AL_TRY(mean_plus_epsilon(rsqrt, &shifted, &mean, &found->epsilon, is));
    if (!*is) return AL_OK;
    AL_TRY(al_input(mean, 0, &square));
    AL_TRY(square_of(square, &found->input, is));
    if (!*is) return AL_OK;
    AL_TRY(scaled_by_gamma(rsqrt, found->input, &scaled, &result, &found->gamma, is));
    if (!*is) return AL_OK;
    const al_tensor_type *x, *gamma;
    AL_TRY(al_tensor_type_of(found->input, &x));
    AL_TRY(al_tensor_type_of(found->gamma, &gamma));
    *is = x && gamma && al_eq(x->dtype, "f32") && al_eq(gamma->dtype, "f32");
    if (!*is) return AL_OK;
    AL_TRY(is_over_dimensions_of(mean, x->sizes, gamma->sizes, is));
    if (!*is) return AL_OK;
    al_nodes rsqrt_users, inside = new_nodes(4);
    push(&inside, scaled), push(&inside, shifted), push(&inside, mean), push(&inside, square);
    AL_TRY(all_used_once(inside, is));
    if (!*is) return AL_OK;
    push(&found->outputs, result);
    push(&found->inner, scaled);
    AL_TRY(al_users(rsqrt, &rsqrt_users));
    /* Where rsqrt is used elsewhere its uses become rstd, and it goes with them. */
    push(rsqrt_users.len > 1 ? &found->rstds : &found->inner, rsqrt);
    push(&found->inner, shifted), push(&found->inner, mean), push(&found->inner, square);
    return AL_OK;
}

al_error find_norms(al_graph graph, norms *found) {
    al_nodes fused = al_find(graph, RMS_NORM), rsqrts = al_find(graph, "aten.rsqrt.default");
    *found = (norms){al_alloc((fused.len + rsqrts.len) * sizeof(norm)), 0};
    bool is;
    for (size_t i = 0; i < fused.len; i++) {
        AL_TRY(fused_norm(fused.ptr[i], &found->ptr[found->len], &is));
        found->len += is;
    }
    for (size_t i = 0; i < rsqrts.len; i++) {
        AL_TRY(written_out(rsqrts.ptr[i], &found->ptr[found->len], &is));
        found->len += is;
    }
    return AL_OK;
}
