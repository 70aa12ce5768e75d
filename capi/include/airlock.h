// Airlock for compilers in C and C++. Made of the crate `capi` by cbindgen; README.md tells how it is used.
//
// Every call gives a status; what went wrong is `airlock_last_error()`, of the calling thread. An id names an object until it is freed,
// and nothing after that. Every object may be used from every thread, one call at a time (a second one waits); an editor belongs to the
// thread that opened it. Texts are UTF-8.

#ifndef AIRLOCK_H
#define AIRLOCK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>


// The version of this interface. A program hands the one that it was built with to `airlock_open`.
#define AIRLOCK_VERSION 1

// How a call ended.
typedef enum {
  // It did what it is for.
  AIRLOCK_STATUS_OK = 0,
  // A pointer is null that may not be.
  AIRLOCK_STATUS_NULL_POINTER = 1,
  // An id was never given out, or its object was freed.
  AIRLOCK_STATUS_BAD_HANDLE = 2,
  // An id is of an object of another kind.
  AIRLOCK_STATUS_WRONG_KIND = 3,
  // The model is being edited: its editor is to be judged or freed first.
  AIRLOCK_STATUS_BUSY = 4,
  // An editor belongs to the thread that opened it.
  AIRLOCK_STATUS_WRONG_THREAD = 5,
  // The program was built with the header of another version.
  AIRLOCK_STATUS_WRONG_VERSION = 6,
  // A text is no UTF-8, a number means nothing, a setting does not exist.
  AIRLOCK_STATUS_BAD_INPUT = 7,
  // A file cannot be read or written, or holds no model or pass.
  AIRLOCK_STATUS_BAD_FILE = 8,
  // A pass may not run: it asks for what it was not granted.
  AIRLOCK_STATUS_NOT_GRANTED = 9,
  // The edit or read is refused, and the graph is as it was: `airlock_last_error` tells more.
  AIRLOCK_STATUS_REFUSED = 10,
  // The graph cannot be lowered.
  AIRLOCK_STATUS_NOT_LOWERED = 11,
  // A defect of Airlock. The objects of the call may be of no more use.
  AIRLOCK_STATUS_INTERNAL = 12,
} airlock_status;

// What a node is.
typedef enum {
  // An input of the graph.
  AIRLOCK_NODE_KIND_PLACEHOLDER = 0,
  // A call of an operator.
  AIRLOCK_NODE_KIND_CALL = 1,
  // A body, a parameter or a constant.
  AIRLOCK_NODE_KIND_GET_ATTR = 2,
  // What the graph returns.
  AIRLOCK_NODE_KIND_OUTPUT = 3,
} airlock_node_kind;

// How a result lies in the memory of an operand.
typedef enum {
  // It is the operand itself, or an item of it.
  AIRLOCK_SHARING_SAME = 0,
  // It is a view of the operand.
  AIRLOCK_SHARING_VIEW = 1,
  // It is one of these, or fresh.
  AIRLOCK_SHARING_MAYBE = 2,
} airlock_sharing;

// What a call does beside computing its results: the contract's `side-effect`.
typedef enum {
  // Nothing more.
  AIRLOCK_SIDE_EFFECT_NONE = 0,
  // Raises where what it checks does not hold.
  AIRLOCK_SIDE_EFFECT_ASSERT = 1,
  // Shows something to a person.
  AIRLOCK_SIDE_EFFECT_PRINT = 2,
  // Talks with other devices.
  AIRLOCK_SIDE_EFFECT_COLLECTIVE = 3,
  // Runs bodies.
  AIRLOCK_SIDE_EFFECT_CONTROL = 4,
  // Changes the stream or scope that later calls run in, or orders streams.
  AIRLOCK_SIDE_EFFECT_STREAM = 5,
  // Records an event.
  AIRLOCK_SIDE_EFFECT_RECORD = 6,
  // Touches caches of a device.
  AIRLOCK_SIDE_EFFECT_PREFETCH = 7,
  // Anything: nobody described the operator.
  AIRLOCK_SIDE_EFFECT_OPAQUE = 8,
} airlock_side_effect;

// What became of a pass, of an editor's edits, or of a lowering.
typedef enum {
  // Nothing was edited.
  AIRLOCK_OUTCOME_UNCHANGED = 0,
  // The edits stand; what was lowered is written.
  AIRLOCK_OUTCOME_ACCEPTED = 1,
  // The verdict is not enough: the graph is as it was, nothing is written.
  AIRLOCK_OUTCOME_REFUSED = 2,
  // The pass faulted: the graph is as it was.
  AIRLOCK_OUTCOME_FAULTED = 3,
} airlock_outcome;

// What the verdict is.
typedef enum {
  // Nothing was judged.
  AIRLOCK_VERDICT_NONE = 0,
  // The graphs mean the same.
  AIRLOCK_VERDICT_PROVED = 1,
  // They mean the same on what was checked.
  AIRLOCK_VERDICT_CHECKED = 2,
  // Nobody knows.
  AIRLOCK_VERDICT_UNKNOWN = 3,
  // They differ.
  AIRLOCK_VERDICT_REFUTED = 4,
} airlock_verdict;

// Why an edit or a read was refused: the contract's `edit-code`.
typedef enum {
  // Nothing was refused.
  AIRLOCK_EDIT_CODE_NONE = 0,
  // The id is of no node of this graph (any more).
  AIRLOCK_EDIT_CODE_STALE = 1,
  // Nobody knows the operator.
  AIRLOCK_EDIT_CODE_UNKNOWN_TARGET = 2,
  // An argument does not fit the operator's schema.
  AIRLOCK_EDIT_CODE_BAD_ARGUMENT = 3,
  // Types do not fit.
  AIRLOCK_EDIT_CODE_TYPE_MISMATCH = 4,
  // A node would stand before what it uses.
  AIRLOCK_EDIT_CODE_USE_BEFORE_DEFINITION = 5,
  // The node has users.
  AIRLOCK_EDIT_CODE_STILL_USED = 6,
  // The model's calling convention is not a pass's to change.
  AIRLOCK_EDIT_CODE_NOT_ALLOWED = 7,
  // A limit would be passed.
  AIRLOCK_EDIT_CODE_OVER_LIMIT = 8,
} airlock_edit_code;

// What an argument that is no list is.
typedef enum {
  // Python's `None`.
  AIRLOCK_SCALAR_KIND_NONE = 0,
  // The value of a node: `node`.
  AIRLOCK_SCALAR_KIND_NODE = 1,
  // An integer: `integer`.
  AIRLOCK_SCALAR_KIND_INT = 2,
  // A float: `real`.
  AIRLOCK_SCALAR_KIND_FLOAT = 3,
  // A complex number: `real` and `imaginary`.
  AIRLOCK_SCALAR_KIND_COMPLEX = 4,
  // `True` or `False`: `integer` is not 0.
  AIRLOCK_SCALAR_KIND_BOOL = 5,
  // `text`.
  AIRLOCK_SCALAR_KIND_STR = 6,
  // `text`, without `torch.`: `float32`.
  AIRLOCK_SCALAR_KIND_DTYPE = 7,
  // `text`: `npu:0`.
  AIRLOCK_SCALAR_KIND_DEVICE = 8,
  // `text`, without `torch.`: `strided`.
  AIRLOCK_SCALAR_KIND_LAYOUT = 9,
  // `text`, without `torch.`: `contiguous_format`.
  AIRLOCK_SCALAR_KIND_MEMORY_FORMAT = 10,
  // An operator, spelled as a target: `text`.
  AIRLOCK_SCALAR_KIND_OPERATOR = 11,
  // Anything else, in the host's words: `text`. It can be handed back as it is.
  AIRLOCK_SCALAR_KIND_OTHER = 12,
} airlock_scalar_kind;

// What a value is.
typedef enum {
  // No value.
  AIRLOCK_ELEMENT_KIND_NONE = 0,
  // A tensor: `dtype`, `sizes`, `strides`, `device`.
  AIRLOCK_ELEMENT_KIND_TENSOR = 1,
  // A symbolic integer: `text`.
  AIRLOCK_ELEMENT_KIND_SYM_INT = 2,
  // A symbolic float: `text`.
  AIRLOCK_ELEMENT_KIND_SYM_FLOAT = 3,
  // A symbolic truth value: `text`.
  AIRLOCK_ELEMENT_KIND_SYM_BOOL = 4,
  // Anything else, in the host's words: `text`.
  AIRLOCK_ELEMENT_KIND_OTHER = 5,
} airlock_element_kind;

// What a node's value is.
typedef enum {
  // One value: the first of `items`.
  AIRLOCK_VALUE_KIND_SINGLE = 0,
  // A tuple or list: `items`.
  AIRLOCK_VALUE_KIND_MANY = 1,
  // A graph: `body`.
  AIRLOCK_VALUE_KIND_BODY = 2,
} airlock_value_kind;

// A relation between two sizes.
typedef enum {
  // a = b
  AIRLOCK_RELATION_EQUAL = 0,
  // a < b
  AIRLOCK_RELATION_LESS = 1,
  // b is a multiple of a
  AIRLOCK_RELATION_DIVIDES = 2,
} airlock_relation;

// What a place in a graph is.
typedef enum {
  // Right before `node`.
  AIRLOCK_POINT_KIND_BEFORE = 0,
  // Right after `node`.
  AIRLOCK_POINT_KIND_AFTER = 1,
  // After the placeholders of `graph`.
  AIRLOCK_POINT_KIND_START = 2,
  // Before the output of `graph`.
  AIRLOCK_POINT_KIND_END = 3,
} airlock_point_kind;

// Which edit of a batch it is.
typedef enum {
  // `insert`.
  AIRLOCK_EDIT_KIND_INSERT = 0,
  // `node`, `args`, `kwargs`.
  AIRLOCK_EDIT_KIND_SET_ARGS = 1,
  // `node`, `target`.
  AIRLOCK_EDIT_KIND_SET_TARGET = 2,
  // `node` by `other`, in all users.
  AIRLOCK_EDIT_KIND_REPLACE_USES = 3,
  // `node` by `other`, in `users`.
  AIRLOCK_EDIT_KIND_REPLACE_USES_IN = 4,
  // `node` to `to`.
  AIRLOCK_EDIT_KIND_MOVE_NODE = 5,
  // `node`.
  AIRLOCK_EDIT_KIND_ERASE = 6,
  // `node`, `key`, `value` (null: the note goes).
  AIRLOCK_EDIT_KIND_ANNOTATE = 7,
} airlock_edit_kind;

// The id of an object. 0 is none.
typedef uint64_t airlock_id;

// A place in a graph.
typedef struct {
  // A `PointKind`.
  uint32_t kind;
  // A graph.
  uint32_t graph;
  // A node.
  uint64_t node;
} airlock_point;

// A text in UTF-8. One that is given ends with a null byte, which `len` does not count; one that is taken need not.
typedef struct {
  // Its bytes.
  const uint8_t *ptr;
  // How many.
  uintptr_t len;
} airlock_text;

// An argument that is no list.
typedef struct {
  // A `ScalarKind`, which says which of the others counts.
  uint32_t kind;
  // A node.
  uint64_t node;
  // An integer.
  int64_t integer;
  // A float.
  double real;
  // The imaginary part of a complex number.
  double imaginary;
  // A text.
  airlock_text text;
} airlock_scalar;

// An argument: one scalar, or a list of them.
typedef struct {
  // The scalars.
  const airlock_scalar *items;
  // How many: of an argument that is no list one.
  uintptr_t len;
  // 1 where it is a list.
  uint32_t is_list;
} airlock_arg;

// Arguments.
typedef struct {
  // The arguments.
  const airlock_arg *items;
  // How many.
  uintptr_t len;
} airlock_args;

// A keyword argument.
typedef struct {
  // The keyword.
  airlock_text name;
  // The argument.
  airlock_arg value;
} airlock_named_arg;

// Keyword arguments.
typedef struct {
  // The arguments.
  const airlock_named_arg *items;
  // How many.
  uintptr_t len;
} airlock_named_args;

// A call to insert.
typedef struct {
  // Where.
  airlock_point at;
  // The operator.
  airlock_text target;
  // Positional arguments.
  airlock_args args;
  // Keyword arguments.
  airlock_named_args kwargs;
  // A wish, or null.
  airlock_text name;
} airlock_new_node;

// Nodes, or operands.
typedef struct {
  // The items.
  const uint64_t *items;
  // How many.
  uintptr_t len;
} airlock_nodes;

// One edit of a batch. It means what the function of the same name means.
typedef struct {
  // An `EditKind`, which says which of the others count.
  uint32_t kind;
  // A call to insert.
  airlock_new_node insert;
  // The node that is edited.
  uint64_t node;
  // Another node.
  uint64_t other;
  // Positional arguments.
  airlock_args args;
  // Keyword arguments.
  airlock_named_args kwargs;
  // An operator.
  airlock_text target;
  // Users.
  airlock_nodes users;
  // A place.
  airlock_point to;
  // A note's key.
  airlock_text key;
  // A note.
  airlock_text value;
} airlock_edit;

// Settings of a host. All of it zero is a good default where `worker` is set.
typedef struct {
  // The program `airlock`, which passes run in, each in a process of its own behind walls (Linux). Null: passes run in this process if
  // `in_process` says so, else no pass can be loaded.
  airlock_text worker;
  // 1: passes run in this process. A hole in the engine is then one in this process.
  uint32_t in_process;
  // An `airlock.toml`. Null: defaults.
  airlock_text config;
  // `max-autotune` or `reduce-overhead`. Null: as the configuration says, else the former.
  airlock_text mode;
  // What a verdict must say: `strict`, `default`, `advisory`. Null: as the configuration says, else `default`.
  airlock_text policy;
} airlock_options;

// Graphs, ids of texts, positions.
typedef struct {
  // The items.
  const uint32_t *items;
  // How many.
  uintptr_t len;
} airlock_numbers;

// A size or stride.
typedef struct {
  // Its expression, as PyTorch prints it (`2*s77 + 1`); null where it is a number.
  airlock_text symbolic;
  // The number.
  int64_t fixed;
} airlock_dim;

// Sizes or strides.
typedef struct {
  // One a dimension.
  const airlock_dim *items;
  // How many.
  uintptr_t len;
} airlock_dims;

// The type of one value.
typedef struct {
  // An `ElementKind`, which says which of the others counts.
  uint32_t kind;
  // As the text form spells it: `f32`, `bf16`, `i64`, `b8`.
  airlock_text dtype;
  // One a dimension.
  airlock_dims sizes;
  // One a dimension; none where they are unknown.
  airlock_dims strides;
  // `cpu`, `npu:0`.
  airlock_text device;
  // An expression, or the host's words.
  airlock_text text;
} airlock_element_type;

// The type of a node.
typedef struct {
  // A `ValueKind`.
  uint32_t kind;
  // The types of its values.
  const airlock_element_type *items;
  // How many.
  uintptr_t len;
  // A graph.
  uint32_t body;
} airlock_value_type;

// The smallest and the largest value of a size.
typedef struct {
  // The smallest.
  int64_t smallest;
  // The largest, where `is_bounded` is 1.
  int64_t largest;
  // Whether there is a largest.
  uint32_t is_bounded;
} airlock_range;

// Small numbers.
typedef struct {
  // The items.
  const uint8_t *items;
  // How many.
  uintptr_t len;
} airlock_bytes;

// Texts.
typedef struct {
  // The items.
  const airlock_text *items;
  // How many.
  uintptr_t len;
} airlock_texts;

// A whole graph in flat lists of numbers. An operand below 2^63 is a node; else it is 2^63 plus an index into `literals`.
typedef struct {
  // The nodes.
  airlock_nodes ids;
  // Kinds, as numbers of `airlock_node_kind`.
  airlock_bytes kinds;
  // Targets, as indices into `texts`.
  airlock_numbers targets;
  // Where each node's positional arguments begin.
  airlock_numbers starts;
  // Positional arguments.
  airlock_nodes operands;
  // Where each node's keyword arguments begin.
  airlock_numbers kw_starts;
  // Keywords, as indices into `texts`.
  airlock_numbers kw_names;
  // Keyword arguments.
  airlock_nodes kw_operands;
  // Arguments that are not a node.
  airlock_args literals;
  // The texts of all ids so far.
  airlock_texts texts;
} airlock_columns;

// An operand whose memory a result lies in.
typedef struct {
  // Which result, by position.
  uint32_t result;
  // The operand, as a position in `parameters`.
  uint32_t parameter;
  // How.
  airlock_sharing how;
} airlock_shared_operand;

// What a call does. Operands are named by parameter, as positions in `parameters`.
typedef struct {
  // The names of the parameters by position.
  airlock_texts parameters;
  // 1: the call is a function of its operands that leaves no trace.
  uint32_t pure;
  // The operands whose memory is read.
  airlock_numbers reads;
  // The operands whose memory may be written.
  airlock_numbers writes;
  // Which results may lie in the memory of which operands.
  const airlock_shared_operand *shared;
  // How many of these.
  uintptr_t shared_len;
  // How many results are described; where there are more, the last entry holds for the others.
  uintptr_t results;
  // 1: it may draw random numbers.
  uint32_t draws;
  // 1: it may raise though the types of its arguments fit.
  uint32_t may_raise;
  // What else it does.
  airlock_side_effect side;
  // 1: operands 0 and 1 may be exchanged.
  uint32_t commutes;
} airlock_effects;

// What several calls do: equal effects are there once.
typedef struct {
  // For each call that was asked for, in order, its position in `distinct`.
  airlock_numbers positions;
  // The effects.
  const airlock_effects *distinct;
  // How many.
  uintptr_t distinct_len;
} airlock_effects_table;

// What a report says.
typedef struct {
  // What became of it.
  airlock_outcome outcome;
  // What the verdict is.
  airlock_verdict verdict;
  // Why it was refused, or faulted; else what the verdict rests on, or empty.
  airlock_text reason;
  // For people.
  airlock_text text;
  // All of it, as `airlock run --format json` has it.
  airlock_text json;
} airlock_report_view;

// The last failure of this thread.
typedef struct {
  // What the call gave.
  airlock_status status;
  // What was expected and what was found, for people. Ends with a null byte, as every text that is given.
  airlock_text message;
  // Of a refused edit or read: why.
  airlock_edit_code code;
  // The node that it is about, or 0.
  uint64_t node;
  // The argument that it is about, a position or a keyword, or empty.
  airlock_text argument;
  // The position of the refused edit in its batch, or -1.
  int64_t index;
} airlock_error;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Inserts a call. Its type is inferred from its arguments.
//
// # Safety
//
// `insert` points to a call whose texts and lists are there; `node` points to a place for a node.
airlock_status airlock_graph_insert(airlock_id editor,
                                    const airlock_new_node *insert,
                                    uint64_t *node);

// Replaces all arguments of a call or of the output.
//
// # Safety
//
// Lists and their texts are there.
airlock_status airlock_graph_set_args(airlock_id editor,
                                      uint64_t node,
                                      airlock_args args,
                                      airlock_named_args kwargs);

// Replaces the operator of a call, keeping its arguments.
//
// # Safety
//
// `target` is a text.
airlock_status airlock_graph_set_target(airlock_id editor, uint64_t node, airlock_text target);

// Makes users of `old` use `other` instead: all of them where `only_in` is null, else the `len` users that it lists. `changed` may be null.
//
// # Safety
//
// Where `only_in` is not null there are `len` nodes; `changed` is null or points to a place for a number.
airlock_status airlock_graph_replace_uses(airlock_id editor,
                                          uint64_t old,
                                          uint64_t other,
                                          const uint64_t *only_in,
                                          uintptr_t len,
                                          uint32_t *changed);

// Moves a call elsewhere in its graph.
airlock_status airlock_graph_move_node(airlock_id editor, uint64_t node, airlock_point to);

// Removes a call or a get-attr that has no users.
airlock_status airlock_graph_erase(airlock_id editor, uint64_t node);

// Writes a note on a node, or with null removes it.
//
// # Safety
//
// `key` and `value` are texts.
airlock_status airlock_graph_annotate(airlock_id editor,
                                      uint64_t node,
                                      airlock_text key,
                                      airlock_text value);

// Makes all edits in order, or none of them; gives the new nodes, one for each `insert`. Wherever a batch names a node, 2^63 + i is the node
// that its i-th `insert` (from 0) made. `made` may be null.
//
// # Safety
//
// There are `len` edits at `edits`, with their texts and lists; `made` is null or points to a place for a list.
airlock_status airlock_graph_apply(airlock_id editor,
                                   const airlock_edit *edits,
                                   uintptr_t len,
                                   airlock_nodes *made);

// Opens a model's graph for edits. Until the editor is judged or freed nothing else may be done with the model; all calls on it are made by
// this thread.
//
// # Safety
//
// `editor` points to a place for an id.
airlock_status airlock_editor_open(airlock_id model,
                                   airlock_id *editor);

// Frees all texts and lists that calls on this editor have given. They last until here, or until the editor is freed.
airlock_status airlock_editor_release(airlock_id editor);

// Ends the edits: they are judged, as a pass's are, and stand or are taken back. The editor is of no more use but to be freed.
//
// # Safety
//
// `report` points to a place for an id.
airlock_status airlock_editor_judge(airlock_id editor,
                                    airlock_id *report);

// Frees an object. What it gave, texts and lists, is freed with it; of an editor its edits are taken back. 0 is nothing to free.
airlock_status airlock_free(airlock_id id);

// Begins. `version` is `AIRLOCK_VERSION`; `options` may be null.
//
// # Safety
//
// `options` is null or points to options, `host` to a place for an id.
airlock_status airlock_open(uint32_t version, const airlock_options *options, airlock_id *host);

// Loads a model, `.pt2` or `.fx`.
//
// # Safety
//
// `file` is a text, `model` points to a place for an id.
airlock_status airlock_model_load(airlock_id host, airlock_text file, airlock_id *model);

// Writes a model; the ending of the file decides: `.pt2` or `.fx`. The file appears whole or not at all.
//
// # Safety
//
// `file` is a text.
airlock_status airlock_model_write(airlock_id model,
                                   airlock_text file);

// Loads a pass: a component, which is held to the contract before anything of it runs.
//
// # Safety
//
// `file` is a text, `pass` points to a place for an id.
airlock_status airlock_pass_load(airlock_id host, airlock_text file, airlock_id *pass);

// Sets an option that the pass reads; null takes it away.
//
// # Safety
//
// `key` and `value` are texts.
airlock_status airlock_pass_set_option(airlock_id pass, airlock_text key, airlock_text value);

// Sets the text that the pass's `run` is given.
//
// # Safety
//
// `config` is a text.
airlock_status airlock_pass_set_config(airlock_id pass, airlock_text config);

// Sets the stage in which the pass runs: `pre` or `post`.
//
// # Safety
//
// `stage` is a text.
airlock_status airlock_pass_set_stage(airlock_id pass, airlock_text stage);

// Grants the pass something beyond the graph: `constants` (weight bytes).
//
// # Safety
//
// `grant` is a text.
airlock_status airlock_pass_grant(airlock_id pass, airlock_text grant);

// All graphs: 0 first, then the bodies in the order in which they are reached.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_sub_graphs(airlock_id editor, airlock_numbers *out);

// The nodes of a graph in order; none for a graph that does not exist.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_nodes(airlock_id editor, uint32_t graph, airlock_nodes *out);

// The calls of a graph that have this target, in order.
//
// # Safety
//
// Texts are texts; `out` points to a place for what is given.
airlock_status airlock_graph_find(airlock_id editor,
                                  uint32_t graph,
                                  airlock_text target,
                                  airlock_nodes *out);

// What kind of node it is.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_kind(airlock_id editor, uint64_t node, airlock_node_kind *out);

// The graph that the node belongs to.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_owner(airlock_id editor, uint64_t node, uint32_t *out);

// The node's target as a text id: equal ids are equal texts.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_target_id(airlock_id editor, uint64_t node, uint32_t *out);

// The text of an id that was given out; null for others.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_text(airlock_id editor, uint32_t id, airlock_text *out);

// The node's name, unique in its graph.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_name(airlock_id editor, uint64_t node, airlock_text *out);

// The positional arguments. An output node has one for each value that it returns.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_args(airlock_id editor, uint64_t node, airlock_args *out);

// The keyword arguments, in order.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_kwargs(airlock_id editor, uint64_t node, airlock_named_args *out);

// The nodes that use this one, each once, in graph order.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_users(airlock_id editor, uint64_t node, airlock_nodes *out);

// The type of the node's value.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_type_of(airlock_id editor, uint64_t node, airlock_value_type *out);

// The node after this one in its graph, or 0.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_next(airlock_id editor, uint64_t node, uint64_t *out);

// The node before this one in its graph, or 0.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_previous(airlock_id editor, uint64_t node, uint64_t *out);

// 1 where `a` stands before `b`.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_is_before(airlock_id editor, uint64_t a, uint64_t b, uint32_t *out);

// A note on the node, or null.
//
// # Safety
//
// Texts are texts; `out` points to a place for what is given.
airlock_status airlock_graph_annotation(airlock_id editor,
                                        uint64_t node,
                                        airlock_text key,
                                        airlock_text *out);

// What is known of two sizes, `relation` an `airlock_relation`: 1 always so, 0 never so, -1 neither.
//
// # Safety
//
// Texts are texts; `out` points to a place for what is given.
airlock_status airlock_graph_known(airlock_id editor,
                                   airlock_dim a,
                                   uint32_t relation,
                                   airlock_dim b,
                                   int32_t *out);

// The smallest and the largest value of a size.
//
// # Safety
//
// Texts are texts; `out` points to a place for what is given.
airlock_status airlock_graph_range_of(airlock_id editor, airlock_dim a, airlock_range *out);

// Reads a whole graph.
//
// # Safety
//
// `out` points to a place for what is given.
airlock_status airlock_graph_read_columns(airlock_id editor, uint32_t graph, airlock_columns *out);

// What nodes do with their arguments as they stand.
//
// # Safety
//
// There are `len` nodes at `nodes`; `out` points to a place for what is given.
airlock_status airlock_graph_effects_of(airlock_id editor,
                                        const uint64_t *nodes,
                                        uintptr_t len,
                                        airlock_effects_table *out);

// What calls of operators do, the worst over all arguments that they take.
//
// # Safety
//
// There are `len` texts at `targets`; `out` points to a place for what is given.
airlock_status airlock_graph_effects_of_target(airlock_id editor,
                                               const airlock_text *targets,
                                               uintptr_t len,
                                               airlock_effects_table *out);

// Runs a pass on a model, judges what it did, and lets it stand or takes it back; then the built-in passes, which are judged too. A
// refusal or a fault is a report, no failure.
//
// # Safety
//
// `report` points to a place for an id.
airlock_status airlock_run(airlock_id model,
                           airlock_id pass,
                           airlock_id *report);

// Lowers a model to the NPU, judges what came of it, and writes it unless it is refused, with `FILE.options.json` (of the device) and
// `FILE.host.json` (what the host does around the graph) beside it. The ending decides: `.txt`, `.pbtxt`, `.py`, `.bin`.
//
// # Safety
//
// `file` is a text, `report` points to a place for an id.
airlock_status airlock_lower(airlock_id model,
                             airlock_text file,
                             airlock_id *report);

// Reads a report. Its texts last until the report is freed.
//
// # Safety
//
// `view` points to a place for it.
airlock_status airlock_report_read(airlock_id report, airlock_report_view *view);

// The last failure of this thread, or null where none was. It lasts until the next one.
const airlock_error *airlock_last_error(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AIRLOCK_H */

/// The text of a C string, which is taken up to its null byte; null is no text.
static inline airlock_text airlock_str(const char *string) {
    airlock_text text = {(const uint8_t *)string, string ? strlen(string) : 0};
    return text;
}
