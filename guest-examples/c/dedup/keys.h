/* Keys of calls: equal keys are the same computation. */
#ifndef DEDUP_KEYS_H
#define DEDUP_KEYS_H

#include "graph.h"

typedef struct entry entry;

typedef struct {
    /* Counts the places that nothing is merged across. */
    uint64_t epoch;
    /* For each node the position of the first that computes the same. */
    size_t *kept;
    entry **buckets;
    size_t bucket_count;
} key_table;

key_table new_keys(const graph_view *view);
/* The position of the first call with the same key; where this one is the first, it is remembered and given itself. */
size_t first_with_key(key_table *table, const graph_view *view, size_t index);

#endif
