// Removes views that give back what they were given: `view`, `expand` and the like to the sizes that the operand has.
//
// Sizes may be symbols: whether two are equal is the host's to say. Bodies of `cond` and the like are walked as the graph itself
// is. A view stays where its operand may be written, or where either is returned.

#include <airlock.hpp>

using namespace airlock;

constexpr const char *VIEWS[] = {"aten.view.default", "aten.expand.default", "aten._unsafe_view.default", "aten.reshape.default"};

/// Whether nobody of them may write what it uses, and none returns it.
static Result<bool> only_read(Node::List users) {
    AIRLOCK_TRY(effects, effects_of(users.raw()));
    for (std::size_t i = 0; i < users.size(); i++) {
        AIRLOCK_TRY(kind, users[i].kind());
        const al_effects &does = effects[i];
        if (kind == AL_OUTPUT || does.side == AL_SIDE_OPAQUE || does.writes.len) return false;
    }
    return true;
}

static Result<void> inform(Node view, const TensorType &type) {
    for (Dim size : type.sizes()) {
        if (!size.is_symbolic()) continue;
        auto [smallest, largest] = size.range();
        AIRLOCK_TRY(name, view.name());
        std::string most = largest ? std::to_string(*largest) : "any";
        info(std::string(name) + " keeps a size from " + std::to_string(smallest) + " to " + most);
        break;
    }
    return {};
}

static Result<bool> remove(Node view) {
    Arena arena;
    AIRLOCK_TRY(operand, view.input(0));
    AIRLOCK_TRY(from, operand.tensor_type());
    AIRLOCK_TRY(to, view.tensor_type());
    if (!from || !to || from->dtype() != to->dtype() || !from->same_sizes(*to)) return false;
    for (Node node : {operand, view}) {
        AIRLOCK_TRY(users, node.users());
        AIRLOCK_TRY(only, only_read(users));
        if (!only) return false;
    }
    AIRLOCK_CHECK(inform(view, *from));
    AIRLOCK_CHECK(view.replace_all_uses_with(operand));
    AIRLOCK_CHECK(view.erase());
    return true;
}

static Result<std::size_t> run(Graph) {
    std::size_t removed = 0;
    for (Graph graph : Graph::all()) {
        for (const char *target : VIEWS) {
            for (Node view : graph.find(target)) {
                AIRLOCK_TRY(is_removed, remove(view));
                removed += is_removed;
            }
        }
    }
    return removed;
}

AIRLOCK_PASS("same-shape", "0.1.0", "Removes views that change no size, in bodies too", run)
