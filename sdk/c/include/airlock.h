/* Airlock's SDK for graph passes in C.
 *
 * A pass is one function and one line that says what it is:
 *
 *     #include <airlock.h>
 *
 *     AL_PASS("no-double-negation", "0.1.0", "Removes double negations")
 *
 *     al_error al_run(al_graph graph, al_outcome *outcome) {
 *         al_nodes negs = al_find(graph, "aten.neg.default");
 *         for (size_t i = 0; i < negs.len; i++) { ... }
 *         return AL_OK;
 *     }
 *
 * What holds everywhere:
 *
 * - Words are those of torch.fx: node, target, args, kwargs, users. A node is a number: copy it, compare it.
 * - What can fail returns an `al_error`: AL_OK, or what went wrong. AL_TRY(...) hands an error on to the caller; an error that
 *   comes out of `al_run` drops the pass's edits.
 * - What has a length (texts, lists) lies in the arena. Nothing is freed by itself, and nothing has to be: a component lives
 *   for one run. A pass that reads much in a loop takes a mark and goes back to it (`al_arena_mark`, `al_arena_reset`).
 *   Functions that take some of it say so: "in the arena". Beside it the SDK keeps errors and each target's text.
 * - Texts have a length and no final zero: al_eq compares, "%.*s" with AL_FMT(text) prints. Texts that a pass hands in are C strings.
 * - `printf` and `puts` write to the run's log, a line a message.
 *
 * The file is C11 and C++17. Types and raw calls, as the contract names them, are in <graph_pass.h>.
 */
#ifndef AIRLOCK_H
#define AIRLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph_pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types: the contract's, under short names */

/** A node. An erased one is refused with AL_STALE. */
typedef airlock_pass_types_node_t al_node;
/** A graph: 0 is the model's own, others are bodies of `cond`, `while_loop` and the like. */
typedef airlock_pass_types_sub_graph_t al_graph;
/** A text: `ptr` and `len`, no final zero. */
typedef graph_pass_string_t al_text;
/** Nodes: `ptr` and `len`. */
typedef airlock_pass_graph_list_node_t al_nodes;
/** Graphs: `ptr` and `len`. */
typedef airlock_pass_graph_list_sub_graph_t al_graphs;
/** One size or stride: AIRLOCK_PASS_TYPES_DIM_FIXED or _SYMBOLIC. */
typedef airlock_pass_types_dim_t al_dim;
/** Sizes or strides: `ptr` and `len`. */
typedef airlock_pass_types_list_dim_t al_dims;
/** The type of a tensor: `dtype` ("f32"), `sizes`, `strides`, `device`. */
typedef airlock_pass_types_tensor_type_t al_tensor_type;
/** The type of one value. */
typedef airlock_pass_types_element_type_t al_element_type;
/** The type of a node: one value, several, or a body. */
typedef airlock_pass_types_value_type_t al_value_type;
/** One argument that is no list. */
typedef airlock_pass_types_scalar_t al_scalar;
/** One argument: a scalar or a list of scalars. */
typedef airlock_pass_types_arg_t al_arg;
/** Positional arguments: `ptr` and `len`. */
typedef airlock_pass_graph_list_arg_t al_args;
/** A keyword argument: `name` and `value`. */
typedef airlock_pass_types_named_arg_t al_kwarg;
/** Keyword arguments: `ptr` and `len`. */
typedef airlock_pass_graph_list_named_arg_t al_kwargs;
/** A place to insert at. */
typedef airlock_pass_graph_point_t al_point;
/** A whole graph in flat lists of numbers: the contract's `columns`. */
typedef airlock_pass_graph_columns_t al_columns;
/** What a call does. */
typedef airlock_pass_graph_effects_t al_effects;
/** What several calls do: `distinct.ptr[positions.ptr[i]]` is the i-th. */
typedef airlock_pass_graph_effects_table_t al_effects_table;

/** The kinds of node. */
typedef enum { AL_PLACEHOLDER, AL_CALL, AL_GET_ATTR, AL_OUTPUT } al_kind;
/** A relation between two sizes. */
typedef enum { AL_EQUAL, AL_LESS, AL_DIVIDES } al_relation;
/** What the host knows of it. */
typedef enum { AL_NEVER, AL_ALWAYS, AL_UNKNOWN } al_known_answer;
/** What a call does beside computing. The order is the contract's. */
typedef enum {
    AL_SIDE_NONE,
    AL_SIDE_ASSERT,
    AL_SIDE_PRINT,
    AL_SIDE_COLLECTIVE,
    AL_SIDE_CONTROL,
    AL_SIDE_STREAM,
    AL_SIDE_RECORD,
    AL_SIDE_PREFETCH,
    AL_SIDE_OPAQUE
} al_side_effect;

/** No node: what `al_next` gives after the last one. No node has this number. */
#define AL_NO_NODE UINT64_MAX
/** The model's own graph. */
#define AL_MAIN ((al_graph)0)

/* ---- errors */

/** Why something failed: the contract's codes, or the pass's own words. */
typedef enum {
    AL_STALE,
    AL_UNKNOWN_TARGET,
    AL_BAD_ARGUMENT,
    AL_TYPE_MISMATCH,
    AL_USE_BEFORE_DEFINITION,
    AL_STILL_USED,
    AL_NOT_ALLOWED,
    AL_OVER_LIMIT,
    AL_PASS_ERROR
} al_code;

/** What went wrong. It lasts for the run, whatever becomes of the arena. */
typedef struct {
    al_code code;
    /** The node that it is about, or AL_NO_NODE. */
    al_node node;
    /** The argument that it is about, a position or a keyword; empty where it is about none. */
    al_text argument;
    /** For people. */
    al_text message;
    /** The edit of a batch that it is about, or -1. */
    int64_t index;
} al_error_info;

/** AL_OK (null), or what went wrong. */
typedef const al_error_info *al_error;
#define AL_OK ((al_error)0)

/** Hands an error on to the caller, which returns an `al_error` too. */
#define AL_TRY(call)                     \
    do {                                 \
        al_error al_try_error_ = (call); \
        if (al_try_error_) return al_try_error_; \
    } while (0)

/** An error in the pass's own words, as `printf` puts them together. */
al_error al_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- what a pass gives */

/** What a run did. */
typedef struct {
    /** Whether the graph was edited. The host looks for itself. */
    bool changed;
    /** One line for people, or empty. */
    al_text note;
} al_outcome;

/** What a pass says of itself. */
typedef struct {
    /** Its name: lower case, digits, dashes. */
    const char *name;
    const char *version;
    /** One line for people. */
    const char *about;
    /** The grants that it asks for, apart by commas: "constants"; or null. */
    const char *needs;
} al_info;

/** Says what the pass is. Stands once in a pass, outside of functions. */
#define AL_PASS(NAME, VERSION, ABOUT) AL_PASS_NEEDS(NAME, VERSION, ABOUT, 0)
/** As AL_PASS, and asks for grants. */
#ifdef __cplusplus
#define AL_PASS_NEEDS(NAME, VERSION, ABOUT, NEEDS) extern "C" const al_info al_pass_info = {NAME, VERSION, ABOUT, NEEDS};
#else
#define AL_PASS_NEEDS(NAME, VERSION, ABOUT, NEEDS) const al_info al_pass_info = {NAME, VERSION, ABOUT, NEEDS};
#endif

extern const al_info al_pass_info;

/** The pass: every pass defines it. `outcome` says "unchanged" until something else is written there. */
al_error al_run(al_graph graph, al_outcome *outcome);

/** What a run did that edited so many places; none is "unchanged". In the arena. */
al_outcome al_edits(size_t places);

/* ---- memory */

/** Takes memory from the arena, aligned for anything; never null: a pass without memory ends. */
void *al_alloc(size_t bytes);
/** A place in the arena. */
typedef struct {
    void *block;
    size_t used;
} al_mark;
/** Where the arena is now. */
al_mark al_arena_mark(void);
/** Forgets whatever was taken since the mark: texts, lists. Texts of targets and errors stay. */
void al_arena_reset(al_mark mark);

/* ---- texts */

/** "%.*s" of a text: printf("%.*s\n", AL_FMT(name)). */
#define AL_FMT(text) (int)(text).len, (const char *)(text).ptr
/** A text for a C string; nothing is copied. */
al_text al_str(const char *text);
/** Puts a text together as `printf` does. In the arena. */
al_text al_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Whether a text is that C string. */
bool al_eq(al_text text, const char *other);
/** Whether two texts are equal. */
bool al_same(al_text a, al_text b);

/* ---- reading: lists and texts are in the arena */

/** All graphs: the model's own, then the bodies. */
al_graphs al_all_graphs(void);
/** The nodes of a graph in order, as they are now. */
al_nodes al_graph_nodes(al_graph graph);
/** The calls that have this target, in order. */
al_nodes al_find(al_graph graph, const char *target);
/** The whole graph at once: for passes over many thousand nodes. */
al_columns al_read_columns(al_graph graph);

/** Whether it is a placeholder, a call, a get-attr or the output. */
al_error al_kind_of(al_node node, al_kind *kind);
/** The graph that it belongs to. */
al_error al_owner(al_node node, al_graph *graph);
/** Its target: the operator of a call. The text stays for as long as the pass runs. */
al_error al_target(al_node node, al_text *target);
/** Whether it is a call of this target. False for a node that does not exist. */
bool al_is_call(al_node node, const char *target);
/** Its name, unique in its graph. */
al_error al_name(al_node node, al_text *name);
/** Its positional arguments. */
al_error al_args_of(al_node node, al_args *args);
/** Its keyword arguments. */
al_error al_kwargs_of(al_node node, al_kwargs *kwargs);
/** The node that is the positional argument at an index; an error where there is none or it is no node. */
al_error al_input(al_node node, size_t index, al_node *input);
/** The nodes that use it, each once, in graph order. */
al_error al_users(al_node node, al_nodes *users);
/** The type of its value: FX's `meta["val"]`. */
al_error al_type_of(al_node node, al_value_type *type);
/** The type of its value where that is one tensor, else null. */
al_error al_tensor_type_of(al_node node, const al_tensor_type **type);
/** The node after it, or AL_NO_NODE. */
al_error al_next(al_node node, al_node *next);
/** The node before it, or AL_NO_NODE. */
al_error al_prev(al_node node, al_node *prev);
/** Whether `a` stands before `b`; both are of one graph. */
al_error al_is_before(al_node a, al_node b, bool *before);
/** A note on it; `*text` has no `ptr` where there is none. */
al_error al_annotation(al_node node, const char *key, al_text *text);

/** What the host knows of two sizes. */
al_known_answer al_known(al_dim a, al_relation relation, al_dim b);
/** Whether two lists of sizes are known to be equal. */
bool al_known_equal(al_dims a, al_dims b);
/** The smallest and the largest value of a size; INT64_MAX where it is unbounded. */
void al_range(al_dim size, int64_t *smallest, int64_t *largest);

/** What nodes do with their arguments as they stand: one question for all of them. */
al_error al_effects_of(al_nodes nodes, al_effects_table *table);
/** The effects of the i-th node that was asked for. */
const al_effects *al_effects_at(const al_effects_table *table, size_t i);
/** The position of a keyword among the parameters, or UINT32_MAX. */
uint32_t al_parameter(const al_effects *effects, al_text keyword);
/** Whether the memory of an operand may be written. */
bool al_may_write(const al_effects *effects, uint32_t parameter);
/** Whether a result may lie in the memory of an operand. */
bool al_may_share(const al_effects *effects, uint32_t parameter);

/* ---- arguments */

al_arg al_none(void);
al_arg al_node_arg(al_node node);
al_arg al_int(int64_t value);
al_arg al_float(double value);
al_arg al_bool(bool value);
al_arg al_string(const char *text);
/** "float32" */
al_arg al_dtype(const char *name);
/** "npu:0" */
al_arg al_device(const char *name);
/** "strided" */
al_arg al_layout(const char *name);
/** "contiguous_format" */
al_arg al_memory_format(const char *name);
/** An operator as an argument, spelled as a target. */
al_arg al_operator(const char *target);
/** A list of the arguments, which are no lists themselves. In the arena. */
al_arg al_list(const al_arg *items, size_t len);
al_kwarg al_named(const char *name, al_arg value);

#ifndef __cplusplus
/** Positional arguments: AL_ARGS(al_node_arg(x), al_int(1)). They last until the end of the block. */
#define AL_ARGS(...) ((al_args){(al_arg[]){__VA_ARGS__}, sizeof((al_arg[]){__VA_ARGS__}) / sizeof(al_arg)})
/** Keyword arguments: AL_KWARGS(al_named("alpha", al_int(2))). */
#define AL_KWARGS(...) ((al_kwargs){(al_kwarg[]){__VA_ARGS__}, sizeof((al_kwarg[]){__VA_ARGS__}) / sizeof(al_kwarg)})
/** A list: AL_LIST(al_int(1), al_int(2)). In the arena. */
#define AL_LIST(...) al_list((al_arg[]){__VA_ARGS__}, sizeof((al_arg[]){__VA_ARGS__}) / sizeof(al_arg))
#define AL_NO_ARGS ((al_args){0, 0})
#define AL_NO_KWARGS ((al_kwargs){0, 0})
#endif

/** Whether the argument is a node by itself; then `*node` is it. */
bool al_as_node(const al_arg *arg, al_node *node);
bool al_as_int(const al_arg *arg, int64_t *value);
/** An integer or a float. */
bool al_as_float(const al_arg *arg, double *value);
bool al_as_bool(const al_arg *arg, bool *value);
/** How many scalars are in it: 1, or as many as its list has. */
size_t al_scalar_count(const al_arg *arg);
const al_scalar *al_scalar_at(const al_arg *arg, size_t i);
/** The keyword argument of a name, or null. */
const al_arg *al_kwarg_of(al_kwargs kwargs, const char *name);

/* ---- editing */

al_point al_before(al_node node);
al_point al_after(al_node node);
/** After a graph's placeholders. */
al_point al_start(al_graph graph);
/** Before a graph's output. */
al_point al_end(al_graph graph);

/** Inserts a call; `made` may be null. */
al_error al_insert(al_point at, const char *target, al_args args, al_node *made);
/** As al_insert, with keyword arguments and a wish for a name (or null). */
al_error al_insert_call(al_point at, const char *target, al_args args, al_kwargs kwargs, const char *name, al_node *made);
/** Replaces the arguments of a call or of the output. */
al_error al_set_args(al_node node, al_args args, al_kwargs kwargs);
/** Replaces the operator of a call. */
al_error al_set_target(al_node node, const char *target);
/** Makes every user of `old` use `new_node`, which is left alone itself. */
al_error al_replace_all_uses(al_node old, al_node new_node);
/** Makes the listed users of `old` use `new_node`. */
al_error al_replace_uses_in(al_node old, al_node new_node, al_nodes users);
al_error al_move(al_node node, al_point to);
/** Erases a call or get-attr that has no users. */
al_error al_erase(al_node node);
/** Writes a note, or with null removes it. */
al_error al_annotate(al_node node, const char *key, const char *value);

/** Edits that are made in one call, all or none. Begin with {0}. Memory is the arena's. */
typedef struct {
    airlock_pass_graph_edit_t *edits;
    size_t len;
    size_t room;
    uint64_t inserted;
} al_batch;
/** The new node stands for itself in this batch only. */
al_node al_batch_insert(al_batch *batch, al_point at, const char *target, al_args args, al_kwargs kwargs);
void al_batch_set_args(al_batch *batch, al_node node, al_args args, al_kwargs kwargs);
void al_batch_set_target(al_batch *batch, al_node node, const char *target);
void al_batch_replace_all_uses(al_batch *batch, al_node old, al_node new_node);
void al_batch_move(al_batch *batch, al_node node, al_point to);
void al_batch_erase(al_batch *batch, al_node node);
void al_batch_annotate(al_batch *batch, al_node node, const char *key, const char *value);
/** Makes the edits and empties the batch; `made` (the new nodes in order) may be null. */
al_error al_batch_apply(al_batch *batch, al_nodes *made);

/* ---- what surrounds a pass */

/** Writes a line to the run's log, as `printf` puts it together. */
void al_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void al_inform(const char *format, ...) __attribute__((format(printf, 1, 2)));
void al_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** The user's text for this run, often empty. */
al_text al_config(void);
/** `pre` or `post`. */
al_text al_stage(void);
/** `max-autotune` or `reduce-overhead`. */
al_text al_mode(void);
/** The value of an option that the user set; false where it is not set. */
bool al_option(const char *key, al_text *value);
/** As al_option, and reads a number: false where it is not set, an error where it is none. */
al_error al_option_int(const char *key, bool *is_set, int64_t *value);
/** Bytes of a parameter, buffer or constant. Needs the grant `constants`. */
al_error al_read_constant(al_node node, uint64_t offset, uint32_t len, graph_pass_list_u8_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
