// The pass of TorchAir's document: each `mm` runs on a side stream, together with the `abs` of its result. The Rust pass of this
// name tells which nodes are taken and why.

#include <airlock.hpp>

using namespace airlock;

constexpr const char *MM = "aten.mm.default";
constexpr const char *ABS = "aten.abs.default";
constexpr const char *SUB = "aten.sub.Tensor";

/// What goes to the side stream with `mm`, and who waits for it.
struct Split {
    Node mm, abs, sub;
};

/// The `mm`s that nobody has put on a stream yet.
static std::vector<Node> outside_of_scopes(Graph graph) {
    al_columns columns = graph.read();
    std::vector<Node> found;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < columns.ids.len; i++) {
        if (columns.kinds.ptr[i] != AL_CALL) continue;
        al_text target = columns.texts.ptr[columns.targets.ptr[i]];
        if (al_eq(target, "air.scope_enter.default")) {
            depth++;
        } else if (al_eq(target, "air.scope_exit.default")) {
            depth -= depth > 0;
        } else if (depth == 0 && al_eq(target, MM)) {
            found.emplace_back(columns.ids.ptr[i]);
        }
    }
    return found;
}

/// Whether the operator, the second part of the target, ends in `_`: it writes in place.
static bool writes_in_place(std::string_view target) {
    auto dot = target.find('.');
    if (dot == target.npos) return false;
    std::string_view rest = target.substr(dot + 1);
    return rest.substr(0, rest.find('.')).ends_with('_');
}

/// Whether `abs` can stand right after `mm`: no operator between them writes in place.
static Result<bool> nothing_is_written_between(Node mm, Node abs) {
    AIRLOCK_TRY(between, mm.next());
    while (between && *between != abs) {
        AIRLOCK_TRY(target, between->target());
        if (writes_in_place(target)) return false;
        AIRLOCK_TRY(next, between->next());
        between = next;
    }
    return true;
}

static Result<std::optional<Split>> find(Node mm) {
    using Found = std::optional<Split>;
    AIRLOCK_TRY(users, mm.users());
    std::optional<Node> abs, sub;
    for (Node user : users) {
        if (!abs && user.is_call(ABS)) abs = user;
    }
    if (!abs) return Found();
    AIRLOCK_TRY(nothing, nothing_is_written_between(mm, *abs));
    if (!nothing) return Found();
    AIRLOCK_TRY(abs_users, abs->users());
    for (auto list : {users, abs_users}) {
        for (Node user : list) {
            if (!user.is_call(SUB)) continue;
            AIRLOCK_TRY(earlier, sub ? user.is_before(*sub) : Result<bool>(true));
            if (earlier) sub = user;
        }
    }
    return sub ? Found(Split{mm, *abs, *sub}) : Found();
}

static Result<void> put_on_stream(Graph graph, const Split &split, std::string_view stream) {
    AIRLOCK_TRY(next, split.mm.next());
    if (next != split.abs) AIRLOCK_CHECK(split.abs.move_after(split.mm));
    auto label = Argument::list({"_user_stream_label"});
    AIRLOCK_CHECK(graph.inserting_before(split.mm).call_function("air.scope_enter.default", {label, Argument::list({stream})}));
    InsertionPoint after = graph.inserting_after(split.abs);
    AIRLOCK_TRY(record, after.call_function("air.record.default"));
    AIRLOCK_CHECK(after.call_function("air.scope_exit.default"));
    AIRLOCK_CHECK(graph.inserting_before(split.sub).call_function("air.wait.default", {Argument::list({record})}));
    return {};
}

static Result<std::size_t> run(Graph graph) {
    std::string_view stream = option("stream").value_or("stream_1");
    std::size_t splits = 0;
    for (Node mm : outside_of_scopes(graph)) {
        AIRLOCK_TRY(split, find(mm));
        if (!split) continue;
        AIRLOCK_CHECK(put_on_stream(graph, *split, stream));
        splits++;
    }
    return splits;
}

AIRLOCK_PASS("stream-split", "0.1.0", "Runs each mm and the abs after it on a stream of their own", run)
