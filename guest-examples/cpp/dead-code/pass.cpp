// Dead code: a call that nobody uses, and that does nothing but compute, is erased. One walk backwards over each graph.

#include <airlock.hpp>

#include <unordered_map>

using namespace airlock;

constexpr std::size_t BATCH = 4096;
constexpr std::uint64_t LITERAL = std::uint64_t(1) << 63;

/// Which nodes of a graph are used by something that stays.
class Used {
  public:
    explicit Used(const al_columns &columns) : columns_(columns), is_used_(columns.ids.len) {
        for (std::size_t i = 0; i < columns.ids.len; i++) places_.emplace(columns.ids.ptr[i], i);
    }
    bool operator[](std::size_t i) const { return is_used_[i]; }

    /// Marks what a node uses.
    void mark_inputs(std::size_t i) {
        for (auto at = columns_.starts.ptr[i]; at < columns_.starts.ptr[i + 1]; at++) mark(columns_.operands.ptr[at]);
        for (auto at = columns_.kw_starts.ptr[i]; at < columns_.kw_starts.ptr[i + 1]; at++) mark(columns_.kw_operands.ptr[at]);
    }

  private:
    void mark(std::uint64_t operand) {
        if (operand < LITERAL) return mark_node(operand);
        for (const al_scalar &item : Argument(columns_.literals.ptr[operand - LITERAL]).scalars()) {
            if (item.tag == AIRLOCK_PASS_TYPES_SCALAR_NODE) mark_node(item.val.node);
        }
    }
    void mark_node(al_node node) {
        if (auto found = places_.find(node); found != places_.end()) is_used_[found->second] = true;
    }

    const al_columns &columns_;
    std::vector<bool> is_used_;
    std::unordered_map<al_node, std::size_t> places_;
};

static Result<std::size_t> run(Graph) {
    Batch batch;
    std::size_t erased = 0;
    for (Graph graph : Graph::all()) {
        al_columns columns = graph.read();
        AIRLOCK_TRY(effects, effects_of({columns.ids.ptr, columns.ids.len}));
        Used used(columns);
        for (std::size_t i = columns.ids.len; i-- > 0;) {
            const al_effects &does = effects[i];
            if (columns.kinds.ptr[i] != AL_CALL || used[i] || !does.pure || does.may_raise) {
                used.mark_inputs(i);
                continue;
            }
            batch.erase(Node(columns.ids.ptr[i]));
            erased++;
            if (batch.size() >= BATCH) AIRLOCK_CHECK(batch.apply());
        }
    }
    AIRLOCK_CHECK(batch.apply());
    return erased;
}

AIRLOCK_PASS("dead-code", "0.1.0", "Erases calls that nobody uses", run)
