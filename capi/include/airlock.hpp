// Airlock for compilers in C++17: `airlock.h` with objects that free themselves and failures that are exceptions.
//
//     airlock::Settings settings;
//     settings.worker = "/usr/bin/airlock";
//     airlock::Host host(settings);
//     airlock::Model model = host.load_model("model.pt2");
//     airlock::Pass pass = host.load_pass("pass.wasm");
//     airlock::Report report = model.run(pass);
//     if (report.outcome() == AIRLOCK_OUTCOME_ACCEPTED) model.lower("model.pbtxt");
//
// A graph that the program edits itself is an `Editor`: texts and lists that it gives last until `release()`, or until it goes.
#ifndef AIRLOCK_HPP
#define AIRLOCK_HPP

#include "airlock.h"

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace airlock {

inline std::string_view view(airlock_text text) { return {reinterpret_cast<const char *>(text.ptr), text.len}; }
inline airlock_text text(std::string_view given) { return {reinterpret_cast<const uint8_t *>(given.data()), given.size()}; }
/// A text that is absent where it is empty.
inline airlock_text optional(std::string_view given) { return given.empty() ? airlock_text{nullptr, 0} : text(given); }

/// A call failed.
class Failure : public std::runtime_error {
  public:
    explicit Failure(const airlock_error &error)
        : std::runtime_error(std::string(view(error.message))), status(error.status), code(error.code), node(error.node),
          argument(view(error.argument)), index(error.index) {}

    airlock_status status;
    /// Of a refused edit: why, the node and argument that it is about, its position in a batch or -1.
    airlock_edit_code code;
    uint64_t node;
    std::string argument;
    int64_t index;
};

inline void check(airlock_status status) {
    if (status != AIRLOCK_STATUS_OK) throw Failure(*airlock_last_error());
}

/// An object of the library, freed with its owner.
class Object {
  public:
    explicit Object(airlock_id id) : id_(id) {}
    Object(Object &&other) noexcept : id_(std::exchange(other.id_, 0)) {}
    Object &operator=(Object &&other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Object() { airlock_free(id_); }

    airlock_id id() const { return id_; }

  private:
    airlock_id id_;
};

/// What became of a pass, of edits or of a lowering.
class Report : public Object {
  public:
    explicit Report(airlock_id id) : Object(id) { check(airlock_report_read(id, &view_)); }

    airlock_outcome outcome() const { return view_.outcome; }
    airlock_verdict verdict() const { return view_.verdict; }
    std::string_view reason() const { return view(view_.reason); }
    std::string_view text() const { return view(view_.text); }
    std::string_view json() const { return view(view_.json); }

  private:
    airlock_report_view view_;
};

/// A pass: a component.
class Pass : public Object {
  public:
    using Object::Object;

    void set_option(std::string_view key, std::string_view value) { check(airlock_pass_set_option(id(), text(key), text(value))); }
    void unset_option(std::string_view key) { check(airlock_pass_set_option(id(), text(key), {nullptr, 0})); }
    void set_config(std::string_view config) { check(airlock_pass_set_config(id(), text(config))); }
    void set_stage(std::string_view stage) { check(airlock_pass_set_stage(id(), text(stage))); }
    void grant(std::string_view what) { check(airlock_pass_grant(id(), text(what))); }
};

template <typename Item>
struct Range {
    const Item *items;
    size_t len;
    const Item *begin() const { return items; }
    const Item *end() const { return items + len; }
    size_t size() const { return len; }
    const Item &operator[](size_t i) const { return items[i]; }
};

// Arguments. Texts and lists in them are not copied: they have to last until the call that takes them is over.

inline airlock_scalar none() { return {AIRLOCK_SCALAR_KIND_NONE, 0, 0, 0, 0, {nullptr, 0}}; }
inline airlock_scalar node(uint64_t id) { return {AIRLOCK_SCALAR_KIND_NODE, id, 0, 0, 0, {nullptr, 0}}; }
inline airlock_scalar integer(int64_t value) { return {AIRLOCK_SCALAR_KIND_INT, 0, value, 0, 0, {nullptr, 0}}; }
inline airlock_scalar real(double value) { return {AIRLOCK_SCALAR_KIND_FLOAT, 0, 0, value, 0, {nullptr, 0}}; }
inline airlock_scalar boolean(bool value) { return {AIRLOCK_SCALAR_KIND_BOOL, 0, value, 0, 0, {nullptr, 0}}; }
inline airlock_scalar words(airlock_scalar_kind kind, std::string_view value) { return {(uint32_t)kind, 0, 0, 0, 0, text(value)}; }

/// The arguments of a call: scalars, and lists of them.
class Arguments {
  public:
    Arguments(std::initializer_list<airlock_scalar> scalars) {
        for (const airlock_scalar &scalar : scalars) add(scalar);
    }
    Arguments &add(const airlock_scalar &scalar) {
        lists_.push_back({scalar});
        is_list_.push_back(0);
        return *this;
    }
    Arguments &add_list(std::vector<airlock_scalar> scalars) {
        lists_.push_back(std::move(scalars));
        is_list_.push_back(1);
        return *this;
    }
    /// Lasts as long as these arguments, unless more are added.
    airlock_args get() const {
        args_.clear();
        for (size_t i = 0; i < lists_.size(); i++) args_.push_back({lists_[i].data(), lists_[i].size(), is_list_[i]});
        return {args_.data(), args_.size()};
    }

  private:
    std::vector<std::vector<airlock_scalar>> lists_;
    std::vector<uint32_t> is_list_;
    mutable std::vector<airlock_arg> args_;
};

inline airlock_point before(uint64_t node) { return {AIRLOCK_POINT_KIND_BEFORE, 0, node}; }
inline airlock_point after(uint64_t node) { return {AIRLOCK_POINT_KIND_AFTER, 0, node}; }
inline airlock_point start(uint32_t graph = 0) { return {AIRLOCK_POINT_KIND_START, graph, 0}; }
inline airlock_point end(uint32_t graph = 0) { return {AIRLOCK_POINT_KIND_END, graph, 0}; }

/// A model's graph while this thread edits it: the contract's interface `graph`, call by call. Edits that are not judged are taken back.
class Editor : public Object {
  public:
    using Object::Object;

    Range<uint64_t> nodes(uint32_t graph = 0) { return list(airlock_graph_nodes, graph); }
    Range<uint64_t> users(uint64_t node) { return list(airlock_graph_users, node); }
    Range<uint64_t> find(std::string_view target, uint32_t graph = 0) {
        airlock_nodes given;
        check(airlock_graph_find(id(), graph, text(target), &given));
        return {given.items, given.len};
    }
    Range<uint32_t> sub_graphs() {
        airlock_numbers given;
        check(airlock_graph_sub_graphs(id(), &given));
        return {given.items, given.len};
    }
    airlock_node_kind kind(uint64_t node) { return get<airlock_node_kind>(airlock_graph_kind, node); }
    uint32_t owner(uint64_t node) { return get<uint32_t>(airlock_graph_owner, node); }
    uint64_t next(uint64_t node) { return get<uint64_t>(airlock_graph_next, node); }
    uint64_t previous(uint64_t node) { return get<uint64_t>(airlock_graph_previous, node); }
    std::string_view name(uint64_t node) { return view(get<airlock_text>(airlock_graph_name, node)); }
    std::string_view target(uint64_t node) {
        return view(get<airlock_text>(airlock_graph_text, get<uint32_t>(airlock_graph_target_id, node)));
    }
    Range<airlock_arg> args(uint64_t node) {
        auto given = get<airlock_args>(airlock_graph_args, node);
        return {given.items, given.len};
    }
    Range<airlock_named_arg> kwargs(uint64_t node) {
        auto given = get<airlock_named_args>(airlock_graph_kwargs, node);
        return {given.items, given.len};
    }
    airlock_value_type type_of(uint64_t node) { return get<airlock_value_type>(airlock_graph_type_of, node); }
    bool is_before(uint64_t a, uint64_t b) {
        uint32_t is;
        check(airlock_graph_is_before(id(), a, b, &is));
        return is != 0;
    }

    uint64_t insert(airlock_point at, std::string_view target, const Arguments &args, airlock_named_args kwargs = {nullptr, 0},
                    std::string_view name = {}) {
        airlock_new_node made{at, text(target), args.get(), kwargs, optional(name)};
        uint64_t node;
        check(airlock_graph_insert(id(), &made, &node));
        return node;
    }
    void set_args(uint64_t node, const Arguments &args, airlock_named_args kwargs = {nullptr, 0}) {
        check(airlock_graph_set_args(id(), node, args.get(), kwargs));
    }
    void set_target(uint64_t node, std::string_view target) { check(airlock_graph_set_target(id(), node, text(target))); }
    uint32_t replace_uses(uint64_t old, uint64_t other) {
        uint32_t changed;
        check(airlock_graph_replace_uses(id(), old, other, nullptr, 0, &changed));
        return changed;
    }
    void move(uint64_t node, airlock_point to) { check(airlock_graph_move_node(id(), node, to)); }
    void erase(uint64_t node) { check(airlock_graph_erase(id(), node)); }
    void annotate(uint64_t node, std::string_view key, std::string_view value) {
        check(airlock_graph_annotate(id(), node, text(key), text(value)));
    }

    /// Frees all texts and lists that were given.
    void release() { check(airlock_editor_release(id())); }
    /// Ends the edits: they are judged, and stand or are taken back.
    Report judge() {
        airlock_id report;
        check(airlock_editor_judge(id(), &report));
        return Report(report);
    }

  private:
    template <typename T, typename Key>
    T get(airlock_status (*call)(airlock_id, Key, T *), Key key) {
        T given;
        check(call(id(), key, &given));
        return given;
    }
    template <typename Key>
    Range<uint64_t> list(airlock_status (*call)(airlock_id, Key, airlock_nodes *), Key key) {
        airlock_nodes given = get<airlock_nodes>(call, key);
        return {given.items, given.len};
    }
};

/// A model.
class Model : public Object {
  public:
    using Object::Object;

    void write(std::string_view file) const { check(airlock_model_write(id(), text(file))); }
    /// Runs a pass, judges what it did, and lets it stand or takes it back.
    Report run(const Pass &pass) const {
        airlock_id report;
        check(airlock_run(id(), pass.id(), &report));
        return Report(report);
    }
    /// Lowers it, judges that, and writes it unless it is refused.
    Report lower(std::string_view file) const {
        airlock_id report;
        check(airlock_lower(id(), text(file), &report));
        return Report(report);
    }
    /// Opens its graph for edits, by this thread.
    Editor edit() const {
        airlock_id editor;
        check(airlock_editor_open(id(), &editor));
        return Editor(editor);
    }
};

/// Settings. Passes run in processes of the program `worker`, or else in this one if `in_process` says so.
struct Settings {
    std::string_view worker = {};
    bool in_process = false;
    std::string_view config = {};
    std::string_view mode = {};
    std::string_view policy = {};
};

/// What models and passes are loaded with.
class Host : public Object {
  public:
    explicit Host(const Settings &settings) : Object(open(settings)) {}

    Model load_model(std::string_view file) const {
        airlock_id model;
        check(airlock_model_load(id(), text(file), &model));
        return Model(model);
    }
    Pass load_pass(std::string_view file) const {
        airlock_id pass;
        check(airlock_pass_load(id(), text(file), &pass));
        return Pass(pass);
    }

  private:
    static airlock_id open(const Settings &given) {
        airlock_options options{optional(given.worker), given.in_process, optional(given.config), optional(given.mode), optional(given.policy)};
        airlock_id host;
        check(airlock_open(AIRLOCK_VERSION, &options, &host));
        return host;
    }
};

}  // namespace airlock

#endif
