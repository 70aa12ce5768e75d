// Common subexpression elimination: what is computed twice from the same arguments is computed once.
//
// One walk over a graph in order: the second call with a key is replaced by the first. What each call does is asked of the host;
// what is left alone, and why, the Rust pass of this name tells.

#include "keys.hpp"

using namespace airlock;

/// A batch is sent when it is this long: one call to the host carries a limited amount of data.
constexpr std::size_t BATCH = 4096;

/// Which values may be written, and which the graph returns: both also through views.
struct Mark {
    bool written = false;
    bool returned = false;
};

/// One walk backwards: what a call writes, and what the output returns, is marked; a call whose result may lie in an operand's
/// memory hands its marks on to that operand.
static std::vector<Mark> marks_of(const View &view) {
    std::vector<Mark> marks(view.size());
    for (std::size_t i = view.size(); i-- > 0;) {
        view.each_input(i, [&](al_node node, std::uint32_t parameter) {
            auto at = view.index_of(node);
            if (!at) return;
            const al_effects *does = &view.effects[i];
            bool shares = al_may_share(does, parameter);
            marks[*at].returned |= view.columns.kinds.ptr[i] == AL_OUTPUT || (shares && marks[i].returned);
            marks[*at].written |= al_may_write(does, parameter) || (shares && marks[i].written);
        });
    }
    return marks;
}

/// What a call means for merging.
enum class Meaning { Pure, Single, Barrier };

static Meaning meaning_of(const al_effects &does) {
    bool orders = does.side == AL_SIDE_OPAQUE || does.side == AL_SIDE_STREAM || does.side == AL_SIDE_RECORD;
    if (orders || does.writes.len) return Meaning::Barrier;
    return does.pure ? Meaning::Pure : Meaning::Single;
}

static Result<std::size_t> dedup(Graph graph) {
    AIRLOCK_TRY(view, View::of(graph));
    std::vector<Mark> marks = marks_of(view);
    Keys keys(view);
    Batch batch;
    std::size_t merged = 0;
    for (std::size_t i = 0; i < view.size(); i++) {
        if (view.columns.kinds.ptr[i] != AL_CALL) continue;
        Meaning meaning = meaning_of(view.effects[i]);
        if (meaning == Meaning::Barrier) keys.forget();
        if (meaning != Meaning::Pure || marks[i].written) continue;
        std::size_t first = keys.first_like(i);
        if (first == i || (marks[i].returned && marks[first].returned)) continue;
        marks[first].returned |= marks[i].returned;
        keys.merge(i, first);
        Node call(view.columns.ids.ptr[i]), kept(view.columns.ids.ptr[first]);
        batch.replace_all_uses(call, kept);
        batch.erase(call);
        merged++;
        if (batch.size() >= BATCH) AIRLOCK_CHECK(batch.apply());
    }
    AIRLOCK_CHECK(batch.apply());
    return merged;
}

static Result<std::size_t> run(Graph) {
    std::size_t merged = 0;
    for (Graph graph : Graph::all()) {
        AIRLOCK_TRY(more, dedup(graph));
        merged += more;
    }
    return merged;
}

AIRLOCK_PASS("dedup", "0.1.0", "Computes once what is computed twice", run)
