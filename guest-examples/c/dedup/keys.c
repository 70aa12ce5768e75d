/* A key is a list of numbers: the stretch of the graph, the target, the arguments, with keywords. A node stands as the first
 * node that computes the same, a literal as its index (equal literals have one index); a list with nodes in it is written
 * out, as what it holds may have been merged. */

#include "keys.h"

#include <string.h>

/* Numbers that begin something which is no node and no literal. */
#define LIST (UINT64_MAX)
#define KEYWORD (UINT64_MAX - 1)
#define SCALAR (UINT64_MAX - 2)

struct entry {
    entry *next;
    size_t index;
    uint64_t hash;
    size_t len;
    uint64_t numbers[];
};

typedef struct {
    uint64_t *numbers;
    size_t len;
    size_t room;
} key;

static void put(key *k, uint64_t number) {
    if (k->len == k->room) {
        size_t room = k->room ? k->room * 2 : 32;
        uint64_t *more = al_alloc(room * sizeof *more);
        if (k->len) memcpy(more, k->numbers, k->len * sizeof *more);
        k->numbers = more;
        k->room = room;
    }
    k->numbers[k->len++] = number;
}

static void put_bytes(key *k, const void *bytes, size_t len) {
    put(k, len);
    for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
        uint64_t number = 0;
        memcpy(&number, (const uint8_t *)bytes + i, len - i < sizeof number ? len - i : sizeof number);
        put(k, number);
    }
}

/* All of a scalar that is no node: 0.0 and -0.0 are different. */
static void put_scalar(key *k, const al_scalar *scalar) {
    put(k, SCALAR);
    put(k, scalar->tag);
    switch (scalar->tag) {
    case AIRLOCK_PASS_TYPES_SCALAR_NONE:
        return;
    case AIRLOCK_PASS_TYPES_SCALAR_INT:
        put(k, (uint64_t)scalar->val.int_);
        return;
    case AIRLOCK_PASS_TYPES_SCALAR_BOOL:
        put(k, scalar->val.bool_);
        return;
    case AIRLOCK_PASS_TYPES_SCALAR_FLOAT:
        put_bytes(k, &scalar->val.float_, sizeof scalar->val.float_);
        return;
    case AIRLOCK_PASS_TYPES_SCALAR_COMPLEX:
        put_bytes(k, &scalar->val.complex, sizeof scalar->val.complex);
        return;
    default: /* a text of some kind: all of them lie at the same place */
        put_bytes(k, scalar->val.str.ptr, scalar->val.str.len);
        return;
    }
}

static void put_node(key *k, const key_table *table, const graph_view *view, al_node node) {
    size_t at = index_of(view, node);
    put(k, at == NOWHERE ? node : view->columns.ids.ptr[table->kept[at]]);
}

static bool has_node(const al_arg *literal) {
    for (size_t i = 0; i < al_scalar_count(literal); i++) {
        if (al_scalar_at(literal, i)->tag == AIRLOCK_PASS_TYPES_SCALAR_NODE) return true;
    }
    return false;
}

static void put_operand(key *k, const key_table *table, const graph_view *view, uint64_t operand) {
    if (operand < LITERAL) {
        put_node(k, table, view, operand);
        return;
    }
    const al_arg *literal = &view->columns.literals.ptr[operand - LITERAL];
    if (!has_node(literal)) {
        put(k, operand);
        return;
    }
    put(k, LIST);
    put(k, al_scalar_count(literal));
    for (size_t i = 0; i < al_scalar_count(literal); i++) {
        const al_scalar *item = al_scalar_at(literal, i);
        if (item->tag == AIRLOCK_PASS_TYPES_SCALAR_NODE) {
            put_node(k, table, view, item->val.node);
        } else {
            put_scalar(k, item);
        }
    }
}

static key key_of(const key_table *table, const graph_view *view, size_t index) {
    const al_columns *columns = &view->columns;
    key k = {0};
    put(&k, table->epoch);
    put(&k, columns->targets.ptr[index]);
    for (uint32_t i = columns->starts.ptr[index]; i < columns->starts.ptr[index + 1]; i++) {
        put_operand(&k, table, view, columns->operands.ptr[i]);
    }
    for (uint32_t i = columns->kw_starts.ptr[index]; i < columns->kw_starts.ptr[index + 1]; i++) {
        put(&k, KEYWORD);
        put(&k, columns->kw_names.ptr[i]);
        put_operand(&k, table, view, columns->kw_operands.ptr[i]);
    }
    return k;
}

key_table new_keys(const graph_view *view) {
    size_t len = view->columns.ids.len;
    key_table table = {.kept = al_alloc(len * sizeof(size_t)), .bucket_count = len * 2 + 1};
    for (size_t i = 0; i < len; i++) table.kept[i] = i;
    size_t bytes = table.bucket_count * sizeof *table.buckets;
    table.buckets = memset(al_alloc(bytes), 0, bytes);
    return table;
}

size_t first_with_key(key_table *table, const graph_view *view, size_t index) {
    key k = key_of(table, view, index);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < k.len; i++) hash = (hash ^ k.numbers[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ (hash >> 29);
    entry **bucket = &table->buckets[hash % table->bucket_count];
    for (entry *e = *bucket; e; e = e->next) {
        if (e->hash == hash && e->len == k.len && memcmp(e->numbers, k.numbers, k.len * sizeof *k.numbers) == 0) {
            return e->index;
        }
    }
    entry *e = al_alloc(sizeof *e + k.len * sizeof *k.numbers);
    *e = (entry){*bucket, index, hash, k.len};
    memcpy(e->numbers, k.numbers, k.len * sizeof *k.numbers);
    *bucket = e;
    return index;
}
