// Finds residual adds and rms-norms. The Rust pass of this name tells what counts as one.
#pragma once

#include <airlock.hpp>

/// An rms-norm of `input`.
struct Norm {
    airlock::Node input;
    airlock::Node gamma;
    double epsilon;
    /// Nodes whose value is the normalised tensor.
    std::vector<airlock::Node> outputs;
    /// Nodes whose value is the reciprocal root mean square, where it is used.
    std::vector<airlock::Node> rstds;
    /// What else the norm consists of, users before what they use.
    std::vector<airlock::Node> inner;
};

/// The operands of a residual add: two tensors of one shape and dtype.
struct Add {
    airlock::Node x1, x2;
};

/// All norms of a graph, in order.
airlock::Result<std::vector<Norm>> find_norms(airlock::Graph graph);
/// The sum's operands, if it is a residual add.
airlock::Result<std::optional<Add>> residual_add(airlock::Node sum);
