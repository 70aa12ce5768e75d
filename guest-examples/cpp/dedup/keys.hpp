// Keys of calls: equal keys are the same computation.
//
// A key is a list of numbers: the stretch of the graph, the target, the arguments, with keywords. A node stands as the first
// node that computes the same, a literal as its index (equal literals have one index); a list with nodes in it is written
// out, as what it holds may have been merged.
#pragma once

#include "view.hpp"

#include <algorithm>
#include <cstring>
#include <map>

class Keys {
  public:
    explicit Keys(const View &view) : view_(view), kept_(view.size()) {
        for (std::size_t i = 0; i < kept_.size(); i++) kept_[i] = i;
    }

    /// From here on no key equals an earlier one.
    void forget() { epoch_++; }
    /// From now on a call is another one.
    void merge(std::size_t call, std::size_t kept) { kept_[call] = kept; }
    /// The first call with the same key; where this one is the first, it is remembered and given itself.
    std::size_t first_like(std::size_t call) { return first_.try_emplace(key_of(call), call).first->second; }

  private:
    using Key = std::vector<std::uint64_t>;
    static constexpr std::uint64_t LIST = UINT64_MAX, KEYWORD = UINT64_MAX - 1, SCALAR = UINT64_MAX - 2;

    Key key_of(std::size_t call) const {
        Key key = {epoch_, view_.columns.targets.ptr[call]};
        for (std::uint64_t operand : view_.args(call)) put(key, operand);
        auto names = view_.keywords(call).begin();
        for (std::uint64_t operand : view_.kwargs(call)) {
            key.insert(key.end(), {KEYWORD, *names++});
            put(key, operand);
        }
        return key;
    }

    void put(Key &key, std::uint64_t operand) const {
        auto is_node = [](const al_scalar &item) { return item.tag == AIRLOCK_PASS_TYPES_SCALAR_NODE; };
        if (operand < LITERAL) return put_node(key, operand);
        airlock::Argument list(view_.literal(operand));
        auto items = list.scalars();
        if (std::none_of(items.begin(), items.end(), is_node)) return key.push_back(operand);
        key.insert(key.end(), {LIST, items.size()});
        for (const al_scalar &item : items) is_node(item) ? put_node(key, item.val.node) : put_scalar(key, item);
    }

    void put_node(Key &key, al_node node) const {
        auto at = view_.index_of(node);
        key.push_back(at ? view_.columns.ids.ptr[kept_[*at]] : node);
    }

    /// All of a scalar that is no node: 0.0 and -0.0 are different.
    static void put_scalar(Key &key, const al_scalar &scalar) {
        key.insert(key.end(), {SCALAR, scalar.tag});
        switch (scalar.tag) {
        case AIRLOCK_PASS_TYPES_SCALAR_NONE:
            return;
        case AIRLOCK_PASS_TYPES_SCALAR_INT:
            return key.push_back(static_cast<std::uint64_t>(scalar.val.int_));
        case AIRLOCK_PASS_TYPES_SCALAR_BOOL:
            return key.push_back(scalar.val.bool_);
        case AIRLOCK_PASS_TYPES_SCALAR_FLOAT:
            return put_bytes(key, &scalar.val.float_, sizeof scalar.val.float_);
        case AIRLOCK_PASS_TYPES_SCALAR_COMPLEX:
            return put_bytes(key, &scalar.val.complex, sizeof scalar.val.complex);
        default:  // a text of some kind: all of them lie at the same place
            return put_bytes(key, scalar.val.str.ptr, scalar.val.str.len);
        }
    }

    static void put_bytes(Key &key, const void *bytes, std::size_t len) {
        key.push_back(len);
        for (std::size_t i = 0; i < len; i += sizeof(std::uint64_t)) {
            std::uint64_t number = 0;
            std::memcpy(&number, static_cast<const char *>(bytes) + i, std::min(len - i, sizeof number));
            key.push_back(number);
        }
    }

    const View &view_;
    std::vector<std::size_t> kept_;
    std::map<Key, std::size_t> first_;
    std::uint64_t epoch_ = 0;
};
