/* Finds residual adds and rms-norms. The Rust pass of this name tells what counts as one. */
#ifndef PATTERN_H
#define PATTERN_H

#include <airlock.h>

/* An rms-norm of `input`. */
typedef struct {
    al_node input;
    al_node gamma;
    double epsilon;
    /* Nodes whose value is the normalised tensor. */
    al_nodes outputs;
    /* Nodes whose value is the reciprocal root mean square, where it is used. */
    al_nodes rstds;
    /* What else the norm consists of, users before what they use. */
    al_nodes inner;
} norm;

typedef struct {
    norm *ptr;
    size_t len;
} norms;

/* All norms of a graph, in order. */
al_error find_norms(al_graph graph, norms *found);
/* The operands of a residual add: two tensors of one shape and dtype. */
al_error residual_add(al_node sum, al_node *x1, al_node *x2, bool *is);

#endif
