/* Removes views that give back what they were given: `view`, `expand` and the like to the sizes that the operand has.
 *
 * Sizes may be symbols: whether two are equal is the host's to say. Bodies of `cond` and the like are walked as the graph
 * itself is. A view stays where its operand may be written, or where either is returned. */

#include <airlock.h>

AL_PASS("same-shape", "0.1.0", "Removes views that change no size, in bodies too")

static const char *const VIEWS[] = {"aten.view.default", "aten.expand.default", "aten._unsafe_view.default",
                                    "aten.reshape.default"};

/* Whether nobody of them may write what it uses, and none returns it. */
static al_error only_read(al_nodes users, bool *only) {
    al_effects_table effects;
    AL_TRY(al_effects_of(users, &effects));
    *only = true;
    for (size_t i = 0; i < users.len && *only; i++) {
        const al_effects *does = al_effects_at(&effects, i);
        al_kind kind;
        AL_TRY(al_kind_of(users.ptr[i], &kind));
        *only = kind != AL_OUTPUT && does->side != AL_SIDE_OPAQUE && does->writes.len == 0;
    }
    return AL_OK;
}

static al_error inform(al_node view, al_dims sizes) {
    for (size_t i = 0; i < sizes.len; i++) {
        if (sizes.ptr[i].tag != AIRLOCK_PASS_TYPES_DIM_SYMBOLIC) continue;
        int64_t smallest, largest;
        al_text name;
        al_range(sizes.ptr[i], &smallest, &largest);
        AL_TRY(al_name(view, &name));
        al_text most = largest == INT64_MAX ? al_str("any") : al_format("%lld", (long long)largest);
        al_inform("%.*s keeps a size from %lld to %.*s", AL_FMT(name), (long long)smallest, AL_FMT(most));
        break;
    }
    return AL_OK;
}

static al_error remove_view(al_node view, size_t *removed) {
    al_node operand;
    const al_tensor_type *from, *to;
    AL_TRY(al_input(view, 0, &operand));
    AL_TRY(al_tensor_type_of(operand, &from));
    AL_TRY(al_tensor_type_of(view, &to));
    if (!from || !to || !al_same(from->dtype, to->dtype) || !al_known_equal(from->sizes, to->sizes)) return AL_OK;
    al_nodes users;
    bool only;
    AL_TRY(al_users(operand, &users));
    AL_TRY(only_read(users, &only));
    if (!only) return AL_OK;
    AL_TRY(al_users(view, &users));
    AL_TRY(only_read(users, &only));
    if (!only) return AL_OK;
    AL_TRY(inform(view, from->sizes));
    AL_TRY(al_replace_all_uses(view, operand));
    AL_TRY(al_erase(view));
    ++*removed;
    return AL_OK;
}

al_error al_run(al_graph graph, al_outcome *outcome) {
    (void)graph;
    size_t removed = 0;
    al_graphs graphs = al_all_graphs();
    for (size_t g = 0; g < graphs.len; g++) {
        for (size_t t = 0; t < sizeof VIEWS / sizeof *VIEWS; t++) {
            al_nodes views = al_find(graphs.ptr[g], VIEWS[t]);
            for (size_t i = 0; i < views.len; i++) {
                al_mark mark = al_arena_mark();
                AL_TRY(remove_view(views.ptr[i], &removed));
                al_arena_reset(mark);
            }
        }
    }
    *outcome = al_edits(removed);
    return AL_OK;
}
