/* What <airlock.h> promises, over the generated bindings. */

#include <airlock.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory
 *
 * Blocks of malloc, filled one after the other. The host's lists and texts come here too: `cabi_realloc` is what the
 * component model calls to make room for them. */

#define BLOCK_BYTES ((size_t)64 << 10)
#define ALIGNMENT ((size_t)16)

typedef struct block {
    struct block *before;
    size_t room;
    size_t used;
    max_align_t bytes[];
} block;

static block *current;

static size_t aligned(size_t bytes) { return (bytes + (ALIGNMENT - 1)) & ~(ALIGNMENT - 1); }

void *al_alloc(size_t bytes) {
    if (bytes > SIZE_MAX / 2) __builtin_trap();
    bytes = aligned(bytes);
    if (!current || current->room - current->used < bytes) {
        size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block *next = malloc(sizeof(block) + room);
        if (!next) __builtin_trap();
        next->before = current;
        next->room = room;
        next->used = 0;
        current = next;
    }
    void *place = (uint8_t *)current->bytes + current->used;
    current->used += bytes;
    return place;
}

al_mark al_arena_mark(void) { return (al_mark){current, current ? current->used : 0}; }

void al_arena_reset(al_mark mark) {
    while (current && current != mark.block) {
        block *before = current->before;
        free(current);
        current = before;
    }
    if (current) current->used = mark.used;
}

/* Memory that outlives every mark. */
static void *keep(const void *bytes, size_t len) {
    void *copy = malloc(len ? len : 1);
    if (!copy) __builtin_trap();
    return len ? memcpy(copy, bytes, len) : copy;
}

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_bytes, size_t align, size_t bytes) {
    if (bytes == 0) return (void *)align;
    void *place = al_alloc(bytes);
    if (old && old_bytes) memcpy(place, old, old_bytes < bytes ? old_bytes : bytes);
    return place;
}

/* ---- texts */

al_text al_str(const char *text) { return (al_text){(uint8_t *)text, text ? strlen(text) : 0}; }

bool al_same(al_text a, al_text b) { return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0); }

bool al_eq(al_text text, const char *other) { return al_same(text, al_str(other)); }

static al_text format_text(const char *format, va_list values) {
    va_list again;
    va_copy(again, values);
    int len = vsnprintf(NULL, 0, format, values);
    if (len < 0) len = 0;
    char *text = al_alloc((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return (al_text){(uint8_t *)text, (size_t)len};
}

al_text al_format(const char *format, ...) {
    va_list values;
    va_start(values, format);
    al_text text = format_text(format, values);
    va_end(values);
    return text;
}

/* ---- errors */

/* Errors outlive every mark: they are handed on through functions that go back to theirs. */
static al_error new_error(al_error_info info) {
    info.argument.ptr = keep(info.argument.ptr, info.argument.len);
    info.message.ptr = keep(info.message.ptr, info.message.len);
    return keep(&info, sizeof info);
}

al_error al_fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    al_text message = format_text(format, values);
    va_end(values);
    return new_error((al_error_info){.code = AL_PASS_ERROR, .node = AL_NO_NODE, .message = message, .index = -1});
}

static al_error refused(const airlock_pass_types_edit_error_t *error, int64_t index) {
    return new_error((al_error_info){
        .code = (al_code)error->code,
        .node = error->node.is_some ? error->node.val : AL_NO_NODE,
        .argument = error->argument.is_some ? error->argument.val : (al_text){0, 0},
        .message = error->message,
        .index = index,
    });
}

/* Calls a function of the contract that fails with an edit-error. */
#define CHECKED(call)                            \
    do {                                         \
        airlock_pass_types_edit_error_t error;   \
        if (!(call)) return refused(&error, -1); \
        return AL_OK;                            \
    } while (0)

static const char *const CODES[] = {
    "stale node",            "unknown target", "bad argument", "type mismatch",
    "use before definition", "still used",     "not allowed",  "over limit",
};

/* As the other SDKs say it: the host shows this text to people. */
static al_text error_text(al_error error) {
    al_text name = {0, 0};
    airlock_pass_types_edit_error_t ignored;
    bool named = error->node != AL_NO_NODE && airlock_pass_graph_name(error->node, &name, &ignored);
    al_text about = named ? al_format("`%.*s`: ", AL_FMT(name)) : al_str("");
    if (error->code == AL_PASS_ERROR) return al_format("%.*s%.*s", AL_FMT(about), AL_FMT(error->message));
    al_text edit = error->index >= 0 ? al_format("edit %d of the batch: ", (int)error->index) : al_str("");
    al_text argument = error->argument.len ? al_format(" (argument %.*s)", AL_FMT(error->argument)) : al_str("");
    return al_format("%.*s%.*s%s%.*s: %.*s", AL_FMT(about), AL_FMT(edit), CODES[error->code], AL_FMT(argument),
                     AL_FMT(error->message));
}

al_outcome al_edits(size_t places) {
    if (places == 0) return (al_outcome){false, {0, 0}};
    return (al_outcome){true, places == 1 ? al_str("1 place") : al_format("%zu places", places)};
}

/* ---- reading */

al_graphs al_all_graphs(void) {
    al_graphs graphs;
    airlock_pass_graph_sub_graphs(&graphs);
    return graphs;
}

al_nodes al_graph_nodes(al_graph graph) {
    al_nodes nodes;
    airlock_pass_graph_nodes(graph, &nodes);
    return nodes;
}

al_nodes al_find(al_graph graph, const char *target) {
    al_text text = al_str(target);
    al_nodes nodes;
    airlock_pass_graph_find(graph, &text, &nodes);
    return nodes;
}

al_columns al_read_columns(al_graph graph) {
    al_columns columns;
    airlock_pass_graph_read_columns(graph, &columns);
    return columns;
}

al_error al_kind_of(al_node node, al_kind *kind) {
    airlock_pass_types_node_kind_t found = 0;
    airlock_pass_types_edit_error_t error;
    if (!airlock_pass_graph_kind(node, &found, &error)) return refused(&error, -1);
    *kind = (al_kind)found;
    return AL_OK;
}

al_error al_owner(al_node node, al_graph *graph) { CHECKED(airlock_pass_graph_owner(node, graph, &error)); }

/* Texts by id, asked for once each. */
static al_text *known_texts;
static size_t known_room;

static al_text text_of(uint32_t id) {
    if (id >= known_room) {
        size_t room = known_room ? known_room : 64;
        while (room <= id) room *= 2;
        al_text *more = calloc(room, sizeof *more);
        if (!more) __builtin_trap();
        if (known_room) memcpy(more, known_texts, known_room * sizeof *more);
        free(known_texts);
        known_texts = more;
        known_room = room;
    }
    if (!known_texts[id].ptr) {
        al_mark mark = al_arena_mark();
        al_text text = {0, 0};
        airlock_pass_graph_text(id, &text);
        known_texts[id] = (al_text){keep(text.ptr, text.len), text.len};
        al_arena_reset(mark);
    }
    return known_texts[id];
}

al_error al_target(al_node node, al_text *target) {
    uint32_t id = 0;
    airlock_pass_types_edit_error_t error;
    if (!airlock_pass_graph_target_id(node, &id, &error)) return refused(&error, -1);
    *target = text_of(id);
    return AL_OK;
}

bool al_is_call(al_node node, const char *target) {
    al_mark mark = al_arena_mark();
    al_kind kind;
    al_text found;
    bool is = !al_kind_of(node, &kind) && kind == AL_CALL && !al_target(node, &found) && al_eq(found, target);
    al_arena_reset(mark);
    return is;
}

al_error al_name(al_node node, al_text *name) { CHECKED(airlock_pass_graph_name(node, name, &error)); }
al_error al_args_of(al_node node, al_args *args) { CHECKED(airlock_pass_graph_args(node, args, &error)); }
al_error al_kwargs_of(al_node node, al_kwargs *kwargs) { CHECKED(airlock_pass_graph_kwargs(node, kwargs, &error)); }

al_error al_input(al_node node, size_t index, al_node *input) {
    al_args args;
    AL_TRY(al_args_of(node, &args));
    if (index < args.len && al_as_node(&args.ptr[index], input)) return AL_OK;
    al_text name = {0, 0};
    AL_TRY(al_name(node, &name));
    return al_fail("`%.*s`: argument %zu is not a node", AL_FMT(name), index);
}

al_error al_users(al_node node, al_nodes *users) { CHECKED(airlock_pass_graph_users(node, users, &error)); }
al_error al_type_of(al_node node, al_value_type *type) { CHECKED(airlock_pass_graph_type_of(node, type, &error)); }

al_error al_tensor_type_of(al_node node, const al_tensor_type **type) {
    al_value_type *found = al_alloc(sizeof *found);
    AL_TRY(al_type_of(node, found));
    bool is_tensor = found->tag == AIRLOCK_PASS_TYPES_VALUE_TYPE_SINGLE &&
                     found->val.single.tag == AIRLOCK_PASS_TYPES_ELEMENT_TYPE_TENSOR;
    *type = is_tensor ? &found->val.single.val.tensor : NULL;
    return AL_OK;
}

static al_error neighbour(bool ok, airlock_pass_graph_option_node_t found, const airlock_pass_types_edit_error_t *error,
                          al_node *node) {
    if (!ok) return refused(error, -1);
    *node = found.is_some ? found.val : AL_NO_NODE;
    return AL_OK;
}

al_error al_next(al_node node, al_node *next) {
    airlock_pass_graph_option_node_t found = {0};
    airlock_pass_types_edit_error_t error;
    bool ok = airlock_pass_graph_next(node, &found, &error);
    return neighbour(ok, found, &error, next);
}

al_error al_prev(al_node node, al_node *prev) {
    airlock_pass_graph_option_node_t found = {0};
    airlock_pass_types_edit_error_t error;
    bool ok = airlock_pass_graph_previous(node, &found, &error);
    return neighbour(ok, found, &error, prev);
}

al_error al_is_before(al_node a, al_node b, bool *before) {
    CHECKED(airlock_pass_graph_is_before(a, b, before, &error));
}

al_error al_annotation(al_node node, const char *key, al_text *text) {
    al_text name = al_str(key);
    graph_pass_option_string_t found = {0};
    airlock_pass_types_edit_error_t error;
    if (!airlock_pass_graph_annotation(node, &name, &found, &error)) return refused(&error, -1);
    *text = found.is_some ? found.val : (al_text){0, 0};
    return AL_OK;
}

al_known_answer al_known(al_dim a, al_relation relation, al_dim b) {
    bool always = false;
    if (!airlock_pass_graph_known(&a, (airlock_pass_graph_relation_t)relation, &b, &always)) return AL_UNKNOWN;
    return always ? AL_ALWAYS : AL_NEVER;
}

bool al_known_equal(al_dims a, al_dims b) {
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++) {
        if (al_known(a.ptr[i], AL_EQUAL, b.ptr[i]) != AL_ALWAYS) return false;
    }
    return true;
}

void al_range(al_dim size, int64_t *smallest, int64_t *largest) {
    graph_pass_tuple2_s64_option_s64_t range;
    airlock_pass_graph_range_of(&size, &range);
    *smallest = range.f0;
    *largest = range.f1.is_some ? range.f1.val : INT64_MAX;
}

al_error al_effects_of(al_nodes nodes, al_effects_table *table) {
    CHECKED(airlock_pass_graph_effects_of(&nodes, table, &error));
}

const al_effects *al_effects_at(const al_effects_table *table, size_t i) {
    return &table->distinct.ptr[table->positions.ptr[i]];
}

uint32_t al_parameter(const al_effects *effects, al_text keyword) {
    for (size_t i = 0; i < effects->parameters.len; i++) {
        if (al_same(effects->parameters.ptr[i], keyword)) return (uint32_t)i;
    }
    return UINT32_MAX;
}

bool al_may_write(const al_effects *effects, uint32_t parameter) {
    if (effects->side == AL_SIDE_OPAQUE) return true;
    for (size_t i = 0; i < effects->writes.len; i++) {
        if (effects->writes.ptr[i] == parameter) return true;
    }
    return false;
}

bool al_may_share(const al_effects *effects, uint32_t parameter) {
    if (effects->side == AL_SIDE_OPAQUE) return true;
    for (size_t i = 0; i < effects->results.len; i++) {
        for (size_t j = 0; j < effects->results.ptr[i].len; j++) {
            if (effects->results.ptr[i].ptr[j].parameter == parameter) return true;
        }
    }
    return false;
}

/* ---- arguments */

static al_arg one(al_scalar scalar) {
    return (al_arg){.tag = AIRLOCK_PASS_TYPES_ARG_ONE, .val.one = scalar};
}

static al_arg worded(uint8_t tag, const char *text) {
    return one((al_scalar){.tag = tag, .val.str = al_str(text)});
}

al_arg al_none(void) { return one((al_scalar){.tag = AIRLOCK_PASS_TYPES_SCALAR_NONE}); }
al_arg al_node_arg(al_node node) { return one((al_scalar){.tag = AIRLOCK_PASS_TYPES_SCALAR_NODE, .val.node = node}); }
al_arg al_int(int64_t value) { return one((al_scalar){.tag = AIRLOCK_PASS_TYPES_SCALAR_INT, .val.int_ = value}); }
al_arg al_float(double value) { return one((al_scalar){.tag = AIRLOCK_PASS_TYPES_SCALAR_FLOAT, .val.float_ = value}); }
al_arg al_bool(bool value) { return one((al_scalar){.tag = AIRLOCK_PASS_TYPES_SCALAR_BOOL, .val.bool_ = value}); }
al_arg al_string(const char *text) { return worded(AIRLOCK_PASS_TYPES_SCALAR_STR, text); }
al_arg al_dtype(const char *name) { return worded(AIRLOCK_PASS_TYPES_SCALAR_DTYPE, name); }
al_arg al_device(const char *name) { return worded(AIRLOCK_PASS_TYPES_SCALAR_DEVICE, name); }
al_arg al_layout(const char *name) { return worded(AIRLOCK_PASS_TYPES_SCALAR_LAYOUT, name); }
al_arg al_memory_format(const char *name) { return worded(AIRLOCK_PASS_TYPES_SCALAR_MEMORY_FORMAT, name); }
al_arg al_operator(const char *target) { return worded(AIRLOCK_PASS_TYPES_SCALAR_OPERATOR, target); }

al_arg al_list(const al_arg *items, size_t len) {
    al_scalar *scalars = al_alloc(len * sizeof *scalars);
    for (size_t i = 0; i < len; i++) {
        /* The contract has one level of lists: a list in a list is the pass's mistake. */
        if (items[i].tag != AIRLOCK_PASS_TYPES_ARG_ONE) __builtin_trap();
        scalars[i] = items[i].val.one;
    }
    return (al_arg){.tag = AIRLOCK_PASS_TYPES_ARG_MANY, .val.many = {scalars, len}};
}

al_kwarg al_named(const char *name, al_arg value) { return (al_kwarg){al_str(name), value}; }

static const al_scalar *scalar_of(const al_arg *arg, uint8_t tag) {
    bool is = arg->tag == AIRLOCK_PASS_TYPES_ARG_ONE && arg->val.one.tag == tag;
    return is ? &arg->val.one : NULL;
}

bool al_as_node(const al_arg *arg, al_node *node) {
    const al_scalar *scalar = scalar_of(arg, AIRLOCK_PASS_TYPES_SCALAR_NODE);
    if (scalar) *node = scalar->val.node;
    return scalar != NULL;
}

bool al_as_int(const al_arg *arg, int64_t *value) {
    const al_scalar *scalar = scalar_of(arg, AIRLOCK_PASS_TYPES_SCALAR_INT);
    if (scalar) *value = scalar->val.int_;
    return scalar != NULL;
}

bool al_as_float(const al_arg *arg, double *value) {
    int64_t whole;
    if (al_as_int(arg, &whole)) {
        *value = (double)whole;
        return true;
    }
    const al_scalar *scalar = scalar_of(arg, AIRLOCK_PASS_TYPES_SCALAR_FLOAT);
    if (scalar) *value = scalar->val.float_;
    return scalar != NULL;
}

bool al_as_bool(const al_arg *arg, bool *value) {
    const al_scalar *scalar = scalar_of(arg, AIRLOCK_PASS_TYPES_SCALAR_BOOL);
    if (scalar) *value = scalar->val.bool_;
    return scalar != NULL;
}

size_t al_scalar_count(const al_arg *arg) { return arg->tag == AIRLOCK_PASS_TYPES_ARG_ONE ? 1 : arg->val.many.len; }

const al_scalar *al_scalar_at(const al_arg *arg, size_t i) {
    return arg->tag == AIRLOCK_PASS_TYPES_ARG_ONE ? &arg->val.one : &arg->val.many.ptr[i];
}

const al_arg *al_kwarg_of(al_kwargs kwargs, const char *name) {
    for (size_t i = 0; i < kwargs.len; i++) {
        if (al_eq(kwargs.ptr[i].name, name)) return &kwargs.ptr[i].value;
    }
    return NULL;
}

/* ---- editing */

al_point al_before(al_node node) { return (al_point){.tag = AIRLOCK_PASS_GRAPH_POINT_BEFORE, .val.before = node}; }
al_point al_after(al_node node) { return (al_point){.tag = AIRLOCK_PASS_GRAPH_POINT_AFTER, .val.after = node}; }
al_point al_start(al_graph graph) { return (al_point){.tag = AIRLOCK_PASS_GRAPH_POINT_START, .val.start = graph}; }
al_point al_end(al_graph graph) { return (al_point){.tag = AIRLOCK_PASS_GRAPH_POINT_END, .val.end = graph}; }

al_error al_insert(al_point at, const char *target, al_args args, al_node *made) {
    return al_insert_call(at, target, args, (al_kwargs){0, 0}, NULL, made);
}

al_error al_insert_call(al_point at, const char *target, al_args args, al_kwargs kwargs, const char *name,
                        al_node *made) {
    airlock_pass_graph_new_node_t call = {at, al_str(target), args, kwargs, {name != NULL, al_str(name)}};
    al_node ignored;
    CHECKED(airlock_pass_graph_insert(&call, made ? made : &ignored, &error));
}

al_error al_set_args(al_node node, al_args args, al_kwargs kwargs) {
    CHECKED(airlock_pass_graph_set_args(node, &args, &kwargs, &error));
}

al_error al_set_target(al_node node, const char *target) {
    al_text text = al_str(target);
    CHECKED(airlock_pass_graph_set_target(node, &text, &error));
}

al_error al_replace_all_uses(al_node old, al_node new_node) {
    uint32_t count;
    CHECKED(airlock_pass_graph_replace_uses(old, new_node, NULL, &count, &error));
}

al_error al_replace_uses_in(al_node old, al_node new_node, al_nodes users) {
    uint32_t count;
    CHECKED(airlock_pass_graph_replace_uses(old, new_node, &users, &count, &error));
}

al_error al_move(al_node node, al_point to) { CHECKED(airlock_pass_graph_move_node(node, &to, &error)); }
al_error al_erase(al_node node) { CHECKED(airlock_pass_graph_erase(node, &error)); }

al_error al_annotate(al_node node, const char *key, const char *value) {
    al_text name = al_str(key), text = al_str(value);
    CHECKED(airlock_pass_graph_annotate(node, &name, value ? &text : NULL, &error));
}

/* ---- batches */

#define NEW_IN_BATCH (UINT64_C(1) << 63)

static void push(al_batch *batch, airlock_pass_graph_edit_t edit) {
    if (batch->len == batch->room) {
        size_t room = batch->room ? batch->room * 2 : 64;
        airlock_pass_graph_edit_t *more = al_alloc(room * sizeof *more);
        if (batch->len) memcpy(more, batch->edits, batch->len * sizeof *more);
        batch->edits = more;
        batch->room = room;
    }
    batch->edits[batch->len++] = edit;
}

static void *copied(const void *items, size_t bytes) {
    void *copy = al_alloc(bytes);
    return bytes ? memcpy(copy, items, bytes) : copy;
}

static al_args copied_args(al_args args) { return (al_args){copied(args.ptr, args.len * sizeof *args.ptr), args.len}; }

static al_kwargs copied_kwargs(al_kwargs kwargs) {
    return (al_kwargs){copied(kwargs.ptr, kwargs.len * sizeof *kwargs.ptr), kwargs.len};
}

al_node al_batch_insert(al_batch *batch, al_point at, const char *target, al_args args, al_kwargs kwargs) {
    airlock_pass_graph_edit_t edit = {.tag = AIRLOCK_PASS_GRAPH_EDIT_INSERT};
    edit.val.insert = (airlock_pass_graph_new_node_t){at, al_str(target), copied_args(args), copied_kwargs(kwargs), {0}};
    push(batch, edit);
    return NEW_IN_BATCH | batch->inserted++;
}

void al_batch_set_args(al_batch *batch, al_node node, al_args args, al_kwargs kwargs) {
    airlock_pass_graph_edit_t edit = {.tag = AIRLOCK_PASS_GRAPH_EDIT_SET_ARGS};
    edit.val.set_args.f0 = node;
    edit.val.set_args.f1 = copied_args(args);
    edit.val.set_args.f2 = copied_kwargs(kwargs);
    push(batch, edit);
}

void al_batch_set_target(al_batch *batch, al_node node, const char *target) {
    airlock_pass_graph_edit_t edit = {.tag = AIRLOCK_PASS_GRAPH_EDIT_SET_TARGET};
    edit.val.set_target.f0 = node;
    edit.val.set_target.f1 = al_str(target);
    push(batch, edit);
}

void al_batch_replace_all_uses(al_batch *batch, al_node old, al_node new_node) {
    airlock_pass_graph_edit_t edit = {.tag = AIRLOCK_PASS_GRAPH_EDIT_REPLACE_USES};
    edit.val.replace_uses.f0 = old;
    edit.val.replace_uses.f1 = new_node;
    push(batch, edit);
}

void al_batch_move(al_batch *batch, al_node node, al_point to) {
    airlock_pass_graph_edit_t edit = {.tag = AIRLOCK_PASS_GRAPH_EDIT_MOVE_NODE};
    edit.val.move_node.f0 = node;
    edit.val.move_node.f1 = to;
    push(batch, edit);
}

void al_batch_erase(al_batch *batch, al_node node) {
    push(batch, (airlock_pass_graph_edit_t){.tag = AIRLOCK_PASS_GRAPH_EDIT_ERASE, .val.erase = node});
}

void al_batch_annotate(al_batch *batch, al_node node, const char *key, const char *value) {
    airlock_pass_graph_edit_t edit = {.tag = AIRLOCK_PASS_GRAPH_EDIT_ANNOTATE};
    edit.val.annotate.f0 = node;
    edit.val.annotate.f1 = al_str(key);
    edit.val.annotate.f2 = (graph_pass_option_string_t){value != NULL, al_str(value)};
    push(batch, edit);
}

al_error al_batch_apply(al_batch *batch, al_nodes *made) {
    airlock_pass_graph_list_edit_t edits = {batch->edits, batch->len};
    *batch = (al_batch){0};
    al_nodes nodes = {0, 0};
    airlock_pass_graph_batch_error_t error;
    if (edits.len && !airlock_pass_graph_apply(&edits, &nodes, &error)) return refused(&error.error, error.index);
    if (made) *made = nodes;
    return AL_OK;
}

/* ---- what surrounds a pass */

static al_text config_text;

static void write_log(airlock_pass_host_level_t level, const char *format, va_list values) {
    al_mark mark = al_arena_mark();
    al_text text = format_text(format, values);
    airlock_pass_host_log(level, &text);
    al_arena_reset(mark);
}

#define LOGS(NAME, LEVEL)                  \
    void NAME(const char *format, ...) {   \
        va_list values;                    \
        va_start(values, format);          \
        write_log(LEVEL, format, values);  \
        va_end(values);                    \
    }
LOGS(al_debug, AIRLOCK_PASS_HOST_LEVEL_DEBUG)
LOGS(al_inform, AIRLOCK_PASS_HOST_LEVEL_INFO)
LOGS(al_warn, AIRLOCK_PASS_HOST_LEVEL_WARN)

al_text al_config(void) { return config_text; }

al_text al_stage(void) {
    al_text text;
    airlock_pass_host_stage(&text);
    return text;
}

al_text al_mode(void) {
    al_text text;
    airlock_pass_host_mode(&text);
    return text;
}

bool al_option(const char *key, al_text *value) {
    al_text name = al_str(key);
    return airlock_pass_host_get_option(&name, value);
}

al_error al_option_int(const char *key, bool *is_set, int64_t *value) {
    al_text text;
    *is_set = al_option(key, &text);
    if (!*is_set) return AL_OK;
    al_text zero_ended = al_format("%.*s", AL_FMT(text));
    char *end;
    long long read = strtoll((const char *)zero_ended.ptr, &end, 10);
    if (text.len == 0 || end != (const char *)zero_ended.ptr + text.len) {
        return al_fail("option `%s` is `%.*s`, which is not a whole number", key, AL_FMT(text));
    }
    *value = read;
    return AL_OK;
}

al_error al_read_constant(al_node node, uint64_t offset, uint32_t len, graph_pass_list_u8_t *bytes) {
    CHECKED(airlock_pass_constants_read(node, offset, len, bytes, &error));
}

/* ---- what the host calls
 *
 * What is returned is freed by the generated bindings: it is malloc's, not the arena's. */

/* Writes what `printf` has not written yet, where the pass has it at all (see stdio.c). */
extern void al_flush_stdio(void);

static al_text returned(al_text text) {
    return text.len ? (al_text){keep(text.ptr, text.len), text.len} : (al_text){0, 0};
}

void exports_airlock_pass_pass_describe(exports_airlock_pass_pass_info_t *info) {
    const char *needs = al_pass_info.needs;
    *info = (exports_airlock_pass_pass_info_t){
        .name = returned(al_str(al_pass_info.name)),
        .version = returned(al_str(al_pass_info.version)),
        .about = returned(al_str(al_pass_info.about)),
    };
    if (!needs || !*needs) return;
    size_t count = 1;
    for (const char *at = needs; *at; at++) count += *at == ',';
    info->needs.ptr = calloc(count, sizeof *info->needs.ptr);
    if (!info->needs.ptr) __builtin_trap();
    while (info->needs.len < count) {
        size_t len = strcspn(needs, ",");
        info->needs.ptr[info->needs.len++] = returned((al_text){(uint8_t *)needs, len});
        needs += len + (needs[len] == ',');
    }
}

bool exports_airlock_pass_pass_run(graph_pass_string_t *config, exports_airlock_pass_pass_outcome_t *outcome,
                                   graph_pass_string_t *failure) {
    config_text = *config;
    al_outcome said = {false, {0, 0}};
    al_error error = al_run(AL_MAIN, &said);
    al_flush_stdio();
    if (error) {
        *failure = returned(error_text(error));
        return false;
    }
    *outcome = (exports_airlock_pass_pass_outcome_t){said.changed, returned(said.note)};
    return true;
}

/* The bindings ask for an object file with the types of the world; `airlock build` writes them into the module itself. */
void __component_type_object_force_link_graph_pass(void) {}
