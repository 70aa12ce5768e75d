// Airlock's SDK for graph passes in C++20: a header over the C SDK.
//
//     #include <airlock.hpp>
//
//     using namespace airlock;
//
//     static Result<std::size_t> run(Graph graph) {
//         std::size_t edits = 0;
//         for (Node outer : graph.find("aten.neg.default")) { ... }
//         return edits;
//     }
//
//     AIRLOCK_PASS("no-double-negation", "0.1.0", "Removes double negations", run)
//
// What holds everywhere:
//
// - Words are those of torch.fx. A Node and a Graph are numbers: copy and compare them.
// - There are no exceptions. What can fail gives a Result; AIRLOCK_TRY(name, call) takes its value or returns its error.
// - Lists and texts that the host gives are spans and string_views into the arena: they last for the run, or to the end of an Arena
//   that stands around them. Arguments that a pass makes own what they hold.
#pragma once

#include <airlock.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace airlock {

/// Why something failed: the C SDK's error.
struct Error {
    al_error info;

    /// An error in the pass's own words.
    static Error of(std::string_view message) {
        return {al_fail("%.*s", static_cast<int>(message.size()), message.data())};
    }
    al_code code() const { return info->code; }
    std::string_view message() const { return {reinterpret_cast<const char *>(info->message.ptr), info->message.len}; }
};

/// A value or an error. `T` may be void.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : value_(std::in_place_index<1>, error) {}

    explicit operator bool() const { return value_.index() == 0; }
    bool has_value() const { return value_.index() == 0; }
    /// The value; without one the pass ends.
    T &operator*() { return has_value() ? *std::get_if<0>(&value_) : (__builtin_trap(), *std::get_if<0>(&value_)); }
    T *operator->() { return &**this; }
    Error error() const { return *std::get_if<1>(&value_); }
    T value_or(T otherwise) const { return has_value() ? *std::get_if<0>(&value_) : std::move(otherwise); }

  private:
    std::variant<T, Error> value_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() : info_(AL_OK) {}
    Result(Error error) : info_(error.info) {}

    explicit operator bool() const { return info_ == AL_OK; }
    bool has_value() const { return info_ == AL_OK; }
    void operator*() const {}
    Error error() const { return {info_}; }

  private:
    al_error info_;
};

#define AIRLOCK_JOIN2(a, b) a##b
#define AIRLOCK_JOIN(a, b) AIRLOCK_JOIN2(a, b)
/// Declares `name` as the value of a Result, or returns its error.
#define AIRLOCK_TRY(name, call)                                                         \
    auto AIRLOCK_JOIN(name, _result) = (call);                                          \
    if (!AIRLOCK_JOIN(name, _result)) return AIRLOCK_JOIN(name, _result).error();       \
    auto name = *AIRLOCK_JOIN(name, _result)
/// Returns the error of a Result, if it is one.
#define AIRLOCK_CHECK(call)                                     \
    do {                                                        \
        if (auto result_ = (call); !result_) return result_.error(); \
    } while (0)

namespace detail {

inline std::string_view view(al_text text) { return {reinterpret_cast<const char *>(text.ptr), text.len}; }
inline al_text text(std::string_view view) {
    return {reinterpret_cast<std::uint8_t *>(const_cast<char *>(view.data())), view.size()};
}

/// A C string in the arena.
inline const char *c_str(std::string_view view) {
    char *copy = static_cast<char *>(al_alloc(view.size() + 1));
    for (std::size_t i = 0; i < view.size(); i++) copy[i] = view[i];
    copy[view.size()] = 0;
    return copy;
}

inline Result<void> done(al_error error) { return error ? Result<void>(Error{error}) : Result<void>(); }

/// Calls a function of the C SDK that gives a value.
template <typename T, typename Out, typename Call, typename Make>
Result<T> given(Call call, Make make) {
    Out out{};
    if (al_error error = call(&out)) return Error{error};
    return make(out);
}

}  // namespace detail

/// Forgets, at its end, what was taken from the arena since it began.
class Arena {
  public:
    Arena() : mark_(al_arena_mark()) {}
    ~Arena() { al_arena_reset(mark_); }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

  private:
    al_mark mark_;
};

class Graph;
class Argument;

/// A list of the C SDK as a range of what `Make` makes of its items.
template <typename Item, typename Made>
class Range {
  public:
    class iterator {
      public:
        using value_type = Made;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;
        using pointer = void;
        using reference = Made;
        explicit iterator(const Item *at) : at_(at) {}
        Made operator*() const { return Made(*at_); }
        iterator &operator++() { return ++at_, *this; }
        iterator operator++(int) { return iterator(at_++); }
        bool operator==(const iterator &other) const { return at_ == other.at_; }

      private:
        const Item *at_;
    };

    Range() = default;
    Range(const Item *ptr, std::size_t len) : items_(ptr, len) {}
    std::size_t size() const { return items_.size(); }
    bool empty() const { return items_.empty(); }
    Made operator[](std::size_t i) const { return Made(items_[i]); }
    iterator begin() const { return iterator(items_.data()); }
    iterator end() const { return iterator(items_.data() + items_.size()); }
    std::span<const Item> raw() const { return items_; }

  private:
    std::span<const Item> items_;
};

/// One size or stride.
class Dim {
  public:
    explicit Dim(al_dim dim) : dim_(dim) {}
    explicit Dim(std::int64_t size) : dim_{.tag = AIRLOCK_PASS_TYPES_DIM_FIXED, .val = {.fixed = size}} {}

    bool is_symbolic() const { return dim_.tag == AIRLOCK_PASS_TYPES_DIM_SYMBOLIC; }
    /// The number, where it is one.
    std::optional<std::int64_t> fixed() const {
        return is_symbolic() ? std::nullopt : std::optional(dim_.val.fixed);
    }
    /// What the host knows: always, never, or nothing.
    std::optional<bool> known(al_relation relation, Dim other) const {
        al_known_answer answer = al_known(dim_, relation, other.dim_);
        return answer == AL_UNKNOWN ? std::nullopt : std::optional(answer == AL_ALWAYS);
    }
    /// The smallest and the largest value; no largest where it is unbounded.
    std::pair<std::int64_t, std::optional<std::int64_t>> range() const {
        std::int64_t smallest, largest;
        al_range(dim_, &smallest, &largest);
        return {smallest, largest == INT64_MAX ? std::nullopt : std::optional(largest)};
    }

  private:
    al_dim dim_;
};

/// The type of a tensor.
class TensorType {
  public:
    explicit TensorType(const al_tensor_type &type) : type_(&type) {}
    std::string_view dtype() const { return detail::view(type_->dtype); }
    std::string_view device() const { return detail::view(type_->device); }
    Range<al_dim, Dim> sizes() const { return {type_->sizes.ptr, type_->sizes.len}; }
    /// None where they are unknown.
    Range<al_dim, Dim> strides() const { return {type_->strides.ptr, type_->strides.len}; }
    /// Whether all sizes are known to be equal.
    bool same_sizes(const TensorType &other) const { return al_known_equal(type_->sizes, other.type_->sizes); }

  private:
    const al_tensor_type *type_;
};

/// A node. One that was erased is refused with AL_STALE by whatever takes it.
class Node {
  public:
    using List = Range<al_node, Node>;

    Node() : id_(AL_NO_NODE) {}
    explicit Node(al_node id) : id_(id) {}
    al_node id() const { return id_; }
    bool operator==(const Node &) const = default;

    Result<al_kind> kind() const { return detail::given<al_kind, al_kind>([&](auto *o) { return al_kind_of(id_, o); }, [](auto o) { return o; }); }
    inline Result<Graph> graph() const;
    /// The operator of a call. The text lasts.
    Result<std::string_view> target() const { return text(al_target); }
    /// Its name, unique in its graph.
    Result<std::string_view> name() const { return text(al_name); }
    /// Whether it is a call of this target. False for a node that does not exist.
    bool is_call(const char *target) const { return al_is_call(id_, target); }
    Result<Range<al_arg, Argument>> args() const;
    Result<std::span<const al_kwarg>> kwargs() const {
        using List = std::span<const al_kwarg>;
        return detail::given<List, al_kwargs>([&](auto *o) { return al_kwargs_of(id_, o); }, [](auto o) { return List(o.ptr, o.len); });
    }
    /// The node that is the positional argument at an index; an error where there is none or it is no node.
    Result<Node> input(std::size_t index) const { return node([&](auto *o) { return al_input(id_, index, o); }); }
    /// The nodes that use it, each once, in graph order.
    Result<List> users() const {
        return detail::given<List, al_nodes>([&](auto *o) { return al_users(id_, o); }, [](auto o) { return List(o.ptr, o.len); });
    }
    /// The type of its value, where that is one tensor.
    Result<std::optional<TensorType>> tensor_type() const {
        using Type = std::optional<TensorType>;
        return detail::given<Type, const al_tensor_type *>(
            [&](auto *o) { return al_tensor_type_of(id_, o); }, [](auto o) { return o ? Type(*o) : Type(); });
    }
    /// The type of its value.
    Result<al_value_type> type() const {
        return detail::given<al_value_type, al_value_type>([&](auto *o) { return al_type_of(id_, o); }, [](auto o) { return o; });
    }
    /// The node after it, if there is one.
    Result<std::optional<Node>> next() const { return neighbour(al_next); }
    /// The node before it, if there is one.
    Result<std::optional<Node>> prev() const { return neighbour(al_prev); }
    Result<bool> is_before(Node other) const {
        return detail::given<bool, bool>([&](auto *o) { return al_is_before(id_, other.id_, o); }, [](auto o) { return o; });
    }

    Result<void> set_target(const char *target) const { return detail::done(al_set_target(id_, target)); }
    Result<void> set_args(const std::vector<Argument> &args, std::span<const al_kwarg> kwargs = {}) const;
    Result<void> replace_all_uses_with(Node other) const { return detail::done(al_replace_all_uses(id_, other.id_)); }
    Result<void> move_before(Node other) const { return detail::done(al_move(id_, al_before(other.id_))); }
    Result<void> move_after(Node other) const { return detail::done(al_move(id_, al_after(other.id_))); }
    Result<void> erase() const { return detail::done(al_erase(id_)); }
    Result<void> annotate(const char *key, const char *value) const { return detail::done(al_annotate(id_, key, value)); }

  private:
    template <typename Call>
    Result<Node> node(Call call) const {
        return detail::given<Node, al_node>(call, [](al_node o) { return Node(o); });
    }
    Result<std::string_view> text(al_error (*call)(al_node, al_text *)) const {
        return detail::given<std::string_view, al_text>([&](auto *o) { return call(id_, o); }, detail::view);
    }
    Result<std::optional<Node>> neighbour(al_error (*call)(al_node, al_node *)) const {
        using Maybe = std::optional<Node>;
        return detail::given<Maybe, al_node>([&](auto *o) { return call(id_, o); }, [](al_node o) { return o == AL_NO_NODE ? Maybe() : Maybe(Node(o)); });
    }

    al_node id_;
};

/// One argument: what a call has, or what a pass gives one. Values become arguments by themselves: `{x, 1, 0.5, "text"}`.
class Argument {
  public:
    explicit Argument(const al_arg &arg) : arg_(arg) {}
    Argument(Node node) : arg_(al_node_arg(node.id())) {}
    Argument(bool value) : arg_(al_bool(value)) {}
    Argument(double value) : arg_(al_float(value)) {}
    template <typename T>
        requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
    Argument(T value) : arg_(al_int(static_cast<std::int64_t>(value))) {}
    Argument(const char *text) : arg_(al_string(text)) {}
    Argument(std::string_view text) : arg_(al_string(detail::c_str(text))) {}
    Argument(std::nullptr_t) : arg_(al_none()) {}
    /// A list.
    static Argument list(std::initializer_list<Argument> items) {
        std::vector<al_arg> raw;
        for (const Argument &item : items) raw.push_back(item.arg_);
        return Argument(al_list(raw.data(), raw.size()));
    }
    static Argument dtype(const char *name) { return Argument(al_dtype(name)); }
    static Argument device(const char *name) { return Argument(al_device(name)); }

    std::optional<Node> node() const {
        al_node node;
        return al_as_node(&arg_, &node) ? std::optional(Node(node)) : std::nullopt;
    }
    std::optional<std::int64_t> integer() const { return as<std::int64_t>(al_as_int); }
    /// An integer or a float.
    std::optional<double> number() const { return as<double>(al_as_float); }
    std::optional<bool> boolean() const { return as<bool>(al_as_bool); }
    bool is_list() const { return arg_.tag == AIRLOCK_PASS_TYPES_ARG_MANY; }
    bool is_none() const { return !is_list() && arg_.val.one.tag == AIRLOCK_PASS_TYPES_SCALAR_NONE; }
    /// What is in it: one for a single argument, any number for a list.
    std::span<const al_scalar> scalars() const {
        return is_list() ? std::span<const al_scalar>(arg_.val.many.ptr, arg_.val.many.len) : std::span(&arg_.val.one, 1);
    }
    const al_arg &raw() const { return arg_; }

  private:
    template <typename T>
    std::optional<T> as(bool (*read)(const al_arg *, T *)) const {
        T value;
        return read(&arg_, &value) ? std::optional(value) : std::nullopt;
    }

    al_arg arg_;
};

namespace detail {

/// Positional arguments in the arena.
inline al_args args(std::span<const Argument> items) {
    al_arg *raw = static_cast<al_arg *>(al_alloc(items.size() * sizeof(al_arg)));
    for (std::size_t i = 0; i < items.size(); i++) raw[i] = items[i].raw();
    return {raw, items.size()};
}

inline al_kwargs kwargs(std::span<const al_kwarg> items) { return {const_cast<al_kwarg *>(items.data()), items.size()}; }

}  // namespace detail

inline Result<Range<al_arg, Argument>> Node::args() const {
    using List = Range<al_arg, Argument>;
    return detail::given<List, al_args>([&](auto *o) { return al_args_of(id_, o); }, [](auto o) { return List(o.ptr, o.len); });
}

inline Result<void> Node::set_args(const std::vector<Argument> &args, std::span<const al_kwarg> kwargs) const {
    return detail::done(al_set_args(id_, detail::args(args), detail::kwargs(kwargs)));
}

/// What several calls do.
class Effects {
  public:
    explicit Effects(al_effects_table table) : table_(table) {}
    const al_effects &operator[](std::size_t i) const { return *al_effects_at(&table_, i); }
    std::size_t size() const { return table_.positions.len; }

  private:
    al_effects_table table_;
};

/// What nodes do with their arguments as they stand: one question for all of them.
inline Result<Effects> effects_of(std::span<const al_node> nodes) {
    al_nodes list = {const_cast<al_node *>(nodes.data()), nodes.size()};
    return detail::given<Effects, al_effects_table>([&](auto *o) { return al_effects_of(list, o); }, [](auto o) { return Effects(o); });
}

/// A place where calls are inserted, each after the one before.
class InsertionPoint {
  public:
    explicit InsertionPoint(al_point point) : point_(point) {}

    /// Inserts a call.
    Result<Node> call_function(const char *target, std::initializer_list<Argument> args = {}, std::span<const al_kwarg> kwargs = {}) {
        al_node made;
        al_args list = detail::args({args.begin(), args.size()});
        if (al_error error = al_insert_call(point_, target, list, detail::kwargs(kwargs), nullptr, &made)) return Error{error};
        if (point_.tag == AIRLOCK_PASS_GRAPH_POINT_AFTER || point_.tag == AIRLOCK_PASS_GRAPH_POINT_START) point_ = al_after(made);
        return Node(made);
    }

  private:
    al_point point_;
};

/// The model's graph, or the body of a `cond`, `while_loop` and the like.
class Graph {
  public:
    explicit Graph(al_graph id = AL_MAIN) : id_(id) {}
    al_graph id() const { return id_; }
    bool operator==(const Graph &) const = default;

    /// All graphs: the model's own, then the bodies.
    static Range<al_graph, Graph> all() {
        al_graphs graphs = al_all_graphs();
        return {graphs.ptr, graphs.len};
    }
    /// The nodes in order, as they are now.
    Node::List nodes() const { return list(al_graph_nodes(id_)); }
    /// The calls that have this target, in order.
    Node::List find(const char *target) const { return list(al_find(id_, target)); }
    /// The whole graph at once: for passes over many thousand nodes.
    al_columns read() const { return al_read_columns(id_); }

    InsertionPoint inserting_before(Node node) const { return InsertionPoint(al_before(node.id())); }
    InsertionPoint inserting_after(Node node) const { return InsertionPoint(al_after(node.id())); }
    InsertionPoint inserting_at_start() const { return InsertionPoint(al_start(id_)); }
    InsertionPoint inserting_at_end() const { return InsertionPoint(al_end(id_)); }

  private:
    static Node::List list(al_nodes nodes) { return {nodes.ptr, nodes.len}; }

    al_graph id_;
};

inline Result<Graph> Node::graph() const {
    return detail::given<Graph, al_graph>([&](auto *o) { return al_owner(id_, o); }, [](auto o) { return Graph(o); });
}

/// Edits that are made in one call, all or none. A new node stands for itself in its batch only.
class Batch {
  public:
    Node insert(al_point at, const char *target, std::initializer_list<Argument> args, std::span<const al_kwarg> kwargs = {}) {
        return Node(al_batch_insert(&batch_, at, target, detail::args({args.begin(), args.size()}), detail::kwargs(kwargs)));
    }
    void replace_all_uses(Node old, Node other) { al_batch_replace_all_uses(&batch_, old.id(), other.id()); }
    void set_target(Node node, const char *target) { al_batch_set_target(&batch_, node.id(), target); }
    void move(Node node, al_point to) { al_batch_move(&batch_, node.id(), to); }
    void erase(Node node) { al_batch_erase(&batch_, node.id()); }
    std::size_t size() const { return batch_.len; }
    /// Makes the edits, and empties the batch.
    Result<void> apply() { return detail::done(al_batch_apply(&batch_, nullptr)); }

  private:
    al_batch batch_ = {};
};

/// The value of an option that the user set.
inline std::optional<std::string_view> option(const char *key) {
    al_text value;
    return al_option(key, &value) ? std::optional(detail::view(value)) : std::nullopt;
}
inline std::string_view config() { return detail::view(al_config()); }
inline std::string_view stage() { return detail::view(al_stage()); }
inline std::string_view mode() { return detail::view(al_mode()); }
/// A line of the log: for whoever works on the pass, for whoever runs it, or a warning.
inline void debug(std::string_view line) { al_debug("%.*s", static_cast<int>(line.size()), line.data()); }
inline void info(std::string_view line) { al_inform("%.*s", static_cast<int>(line.size()), line.data()); }
inline void warn(std::string_view line) { al_warn("%.*s", static_cast<int>(line.size()), line.data()); }

/// Exports a function `Result<std::size_t>(Graph)`, which gives how many places it edited, as the pass.
#define AIRLOCK_PASS(NAME, VERSION, ABOUT, RUN)                             \
    AL_PASS(NAME, VERSION, ABOUT)                                           \
    extern "C" al_error al_run(al_graph graph, al_outcome *outcome) {       \
        ::airlock::Result<std::size_t> places = RUN(::airlock::Graph(graph)); \
        if (!places) return places.error().info;                            \
        *outcome = al_edits(*places);                                       \
        return AL_OK;                                                       \
    }

}  // namespace airlock
