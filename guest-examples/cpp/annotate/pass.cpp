// Writes a note on the calls of an operator: what options are, and what a log is for.
//
// Options: `target` names the operator, `note` is the text, `limit` bounds how many calls get one. The run's text, where there is
// one, stands before the note.

#include <airlock.hpp>

using namespace airlock;

constexpr const char *KEY = "annotate.note";

static Result<std::optional<std::int64_t>> limit_of_calls() {
    bool is_set;
    std::int64_t limit = 0;
    if (al_error error = al_option_int("limit", &is_set, &limit)) return Error{error};
    if (limit < 0) return Error::of("option `limit` is below 0");
    return is_set ? std::optional(limit) : std::nullopt;
}

static Result<std::size_t> run(Graph) {
    std::string target(option("target").value_or("aten.mm.default")), note(option("note").value_or("seen"));
    AIRLOCK_TRY(limit, limit_of_calls());
    debug("stage " + std::string(stage()) + ", mode " + std::string(mode()));
    if (!config().empty()) note = std::string(config()) + ": " + note;

    std::vector<Node> calls;
    for (Graph graph : Graph::all()) {
        for (Node call : graph.find(target.c_str())) calls.push_back(call);
    }
    std::size_t wanted = calls.size();
    if (limit && static_cast<std::uint64_t>(*limit) < wanted) wanted = static_cast<std::size_t>(*limit);
    for (Node call : std::span(calls).first(wanted)) AIRLOCK_CHECK(call.annotate(KEY, note.c_str()));
    info(std::to_string(wanted) + " of " + std::to_string(calls.size()) + " calls of " + target + " have the note");
    if (wanted < calls.size()) warn(std::to_string(calls.size() - wanted) + " calls are beyond the limit");
    return wanted;
}

AIRLOCK_PASS("annotate", "0.1.0", "Writes a note on the calls of an operator", run)
