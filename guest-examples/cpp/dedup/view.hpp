// One graph as the pass sees it: its columns, what its calls do, and where each node stands.
#pragma once

#include <airlock.hpp>

#include <unordered_map>

constexpr std::uint64_t LITERAL = std::uint64_t(1) << 63;

struct View {
    al_columns columns;
    airlock::Effects effects;
    std::unordered_map<al_node, std::size_t> places;

    static airlock::Result<View> of(airlock::Graph graph) {
        al_columns columns = graph.read();
        AIRLOCK_TRY(effects, airlock::effects_of({columns.ids.ptr, columns.ids.len}));
        View view{columns, effects, {}};
        for (std::size_t i = 0; i < columns.ids.len; i++) view.places.emplace(columns.ids.ptr[i], i);
        return view;
    }

    std::size_t size() const { return columns.ids.len; }
    std::optional<std::size_t> index_of(al_node node) const {
        auto found = places.find(node);
        return found == places.end() ? std::nullopt : std::optional(found->second);
    }
    const al_arg &literal(std::uint64_t operand) const { return columns.literals.ptr[operand - LITERAL]; }
    std::span<const std::uint64_t> args(std::size_t i) const { return slice(columns.operands.ptr, columns.starts, i); }
    std::span<const std::uint64_t> kwargs(std::size_t i) const { return slice(columns.kw_operands.ptr, columns.kw_starts, i); }
    /// The keywords of `kwargs`, as indices of texts.
    std::span<const std::uint32_t> keywords(std::size_t i) const { return slice(columns.kw_names.ptr, columns.kw_starts, i); }

    /// Calls `visit(node, parameter)` with each node that a call uses, also in lists.
    template <typename Visit>
    void each_input(std::size_t i, Visit visit) const {
        auto operand = [&](std::uint64_t operand, std::uint32_t parameter) {
            if (operand < LITERAL) return visit(operand, parameter);
            airlock::Argument list(literal(operand));
            for (const al_scalar &item : list.scalars()) {
                if (item.tag == AIRLOCK_PASS_TYPES_SCALAR_NODE) visit(item.val.node, parameter);
            }
        };
        std::uint32_t position = 0;
        for (std::uint64_t arg : args(i)) operand(arg, position++);
        auto names = keywords(i).begin();
        for (std::uint64_t arg : kwargs(i)) operand(arg, al_parameter(&effects[i], columns.texts.ptr[*names++]));
    }

  private:
    template <typename Item>
    static std::span<const Item> slice(const Item *items, const graph_pass_list_u32_t &starts, std::size_t i) {
        return {items + starts.ptr[i], items + starts.ptr[i + 1]};
    }
};
