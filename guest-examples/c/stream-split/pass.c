/* The pass of TorchAir's document: each `mm` runs on a side stream, together with the `abs` of its result. The Rust pass of
 * this name tells which nodes are taken and why. */

#include <airlock.h>
#include <string.h>

AL_PASS("stream-split", "0.1.0", "Runs each mm and the abs after it on a stream of their own")

#define MM "aten.mm.default"
#define ABS "aten.abs.default"
#define SUB "aten.sub.Tensor"

/* The `mm`s that nobody has put on a stream yet. */
static al_nodes outside_of_scopes(al_graph graph) {
    al_columns columns = al_read_columns(graph);
    al_nodes found = {al_alloc(columns.ids.len * sizeof(al_node)), 0};
    uint32_t depth = 0;
    for (size_t i = 0; i < columns.ids.len; i++) {
        if (columns.kinds.ptr[i] != AL_CALL) continue;
        al_text target = columns.texts.ptr[columns.targets.ptr[i]];
        if (al_eq(target, "air.scope_enter.default")) {
            depth++;
        } else if (al_eq(target, "air.scope_exit.default")) {
            depth -= depth > 0;
        } else if (depth == 0 && al_eq(target, MM)) {
            found.ptr[found.len++] = columns.ids.ptr[i];
        }
    }
    return found;
}

/* Whether the operator, the second part of the target, ends in `_`: it writes in place. */
static bool writes_in_place(al_text target) {
    const char *begin = (const char *)target.ptr, *end = begin + target.len;
    const char *operator_ = memchr(begin, '.', target.len);
    if (!operator_) return false;
    const char *dot = memchr(operator_ + 1, '.', (size_t)(end - operator_ - 1));
    return (dot ? dot : end)[-1] == '_';
}

/* Whether `abs` can stand right after `mm`: no operator between them writes in place. */
static al_error nothing_is_written_between(al_node mm, al_node abs, bool *nothing) {
    *nothing = true;
    al_node between;
    AL_TRY(al_next(mm, &between));
    while (between != AL_NO_NODE && between != abs && *nothing) {
        al_text target;
        AL_TRY(al_target(between, &target));
        *nothing = !writes_in_place(target);
        AL_TRY(al_next(between, &between));
    }
    return AL_OK;
}

/* The first `sub` among nodes, if it stands before the one that was found. */
static al_error first_sub(al_nodes users, al_node *found) {
    for (size_t i = 0; i < users.len; i++) {
        bool earlier = true;
        if (*found != AL_NO_NODE) AL_TRY(al_is_before(users.ptr[i], *found, &earlier));
        if (earlier && al_is_call(users.ptr[i], SUB)) *found = users.ptr[i];
    }
    return AL_OK;
}

/* What goes to the side stream with `mm`, and who waits for it; AL_NO_NODE where one of them is missing. */
static al_error find(al_node mm, al_node *abs, al_node *sub) {
    *abs = *sub = AL_NO_NODE;
    al_nodes users, abs_users;
    AL_TRY(al_users(mm, &users));
    for (size_t i = 0; i < users.len && *abs == AL_NO_NODE; i++) {
        if (al_is_call(users.ptr[i], ABS)) *abs = users.ptr[i];
    }
    if (*abs == AL_NO_NODE) return AL_OK;
    bool nothing;
    AL_TRY(nothing_is_written_between(mm, *abs, &nothing));
    if (!nothing) return AL_OK;
    AL_TRY(al_users(*abs, &abs_users));
    AL_TRY(first_sub(users, sub));
    return first_sub(abs_users, sub);
}

static al_error put_on_stream(al_node mm, al_node abs, al_node sub, const char *stream) {
    al_node next, record;
    AL_TRY(al_next(mm, &next));
    if (next != abs) AL_TRY(al_move(abs, al_after(mm)));
    al_args scope = AL_ARGS(AL_LIST(al_string("_user_stream_label")), AL_LIST(al_string(stream)));
    AL_TRY(al_insert(al_before(mm), "air.scope_enter.default", scope, NULL));
    AL_TRY(al_insert(al_after(abs), "air.record.default", AL_NO_ARGS, &record));
    AL_TRY(al_insert(al_after(record), "air.scope_exit.default", AL_NO_ARGS, NULL));
    return al_insert(al_before(sub), "air.wait.default", AL_ARGS(AL_LIST(al_node_arg(record))), NULL);
}

al_error al_run(al_graph graph, al_outcome *outcome) {
    al_text option;
    const char *stream = "stream_1";
    if (al_option("stream", &option)) stream = (const char *)al_format("%.*s", AL_FMT(option)).ptr;
    size_t splits = 0;
    al_nodes mms = outside_of_scopes(graph);
    for (size_t i = 0; i < mms.len; i++) {
        al_node abs, sub;
        AL_TRY(find(mms.ptr[i], &abs, &sub));
        if (sub == AL_NO_NODE) continue;
        AL_TRY(put_on_stream(mms.ptr[i], abs, sub, stream));
        splits++;
    }
    *outcome = al_edits(splits);
    return AL_OK;
}
