/* Fuses a residual add and the rms-norm of its sum into one operator of the NPU. `pattern` finds norms, this file replaces
 * them. */

#include <airlock.h>

#include "pattern.h"

AL_PASS("add-rms-norm", "0.1.0", "Fuses a residual add and an rms-norm into npu_add_rms_norm")

static al_error replace(al_nodes old, al_node new_node) {
    for (size_t i = 0; i < old.len; i++) {
        al_nodes users;
        AL_TRY(al_replace_all_uses(old.ptr[i], new_node));
        AL_TRY(al_users(old.ptr[i], &users));
        if (users.len == 0) AL_TRY(al_erase(old.ptr[i]));
    }
    return AL_OK;
}

static al_error erase_unused(al_nodes inner) {
    for (size_t i = 0; i < inner.len; i++) {
        al_nodes users;
        AL_TRY(al_users(inner.ptr[i], &users));
        if (users.len == 0) AL_TRY(al_erase(inner.ptr[i]));
    }
    return AL_OK;
}

/* Inserts `getitem(fused, index)` behind what was inserted last. */
static al_error item(al_node fused, int64_t index, al_node *last) {
    al_args args = AL_ARGS(al_node_arg(fused), al_int(index));
    return al_insert(al_after(*last), "_operator.getitem", args, last);
}

/* Replaces add and norm; not where the fused operator has no place: `gamma` is made after the sum is used. */
static al_error fuse(const norm *norm, al_node x1, al_node x2, size_t *count) {
    al_node sum = norm->input, last = sum, fused;
    al_nodes users;
    bool before;
    AL_TRY(al_is_before(sum, norm->gamma, &before));
    if (before) last = norm->gamma;
    AL_TRY(al_users(sum, &users));
    for (size_t i = 0; i < users.len; i++) {
        AL_TRY(al_is_before(users.ptr[i], last, &before));
        if (before || users.ptr[i] == last) return AL_OK;
    }
    al_args args = AL_ARGS(al_node_arg(x1), al_node_arg(x2), al_node_arg(norm->gamma), al_float(norm->epsilon));
    AL_TRY(al_insert(al_after(last), "npu.npu_add_rms_norm.default", args, &fused));
    last = fused;
    AL_TRY(item(fused, 0, &last));
    AL_TRY(replace(norm->outputs, last));
    if (norm->rstds.len) {
        AL_TRY(item(fused, 1, &last));
        AL_TRY(replace(norm->rstds, last));
    }
    AL_TRY(erase_unused(norm->inner));
    AL_TRY(al_users(sum, &users));
    if (users.len) {
        AL_TRY(item(fused, 2, &last));
        AL_TRY(al_replace_all_uses(sum, last));
    }
    ++*count;
    return al_erase(sum);
}

al_error al_run(al_graph graph, al_outcome *outcome) {
    norms found;
    AL_TRY(find_norms(graph, &found));
    size_t fused = 0;
    for (size_t i = 0; i < found.len; i++) {
        al_node x1, x2;
        bool is;
        AL_TRY(residual_add(found.ptr[i].input, &x1, &x2, &is));
        if (is) AL_TRY(fuse(&found.ptr[i], x1, x2, &fused));
    }
    *outcome = al_edits(fused);
    return AL_OK;
}
