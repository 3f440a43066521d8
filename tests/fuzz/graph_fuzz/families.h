// The families of nodes that random graphs are made of.
#pragma once
#include "maker.h"

#include <span>

/// Each adds a few nodes to a graph and returns the values that later nodes may take. They throw kiln::Error
/// where the values drawn do not fit, or Kiln does not take the node; Maker::attempt then leaves them out.
namespace graphs {

/// A family, and how often it is drawn compared with the others of a list.
struct Weighted {
  MadeList (*family)(Maker&);
  std::size_t weight;
};
/// Adds nodes of one family, drawn by weight.
MadeList any_of(Maker& m, std::span<const Weighted> families);

/// An operator of the sample table, as a sample calls it.
MadeList sampled(Maker& m);

// Pointwise operators

/// Of the value given.
Made pointwise_of(Maker& m, const Made& x);
MadeList pointwise(Maker& m);
MadeList of_two(Maker& m);
/// Values that can be computed before the graph runs, with a value that cannot.
MadeList constants(Maker& m);
MadeList random_numbers(Maker& m);

// Rows

MadeList reduction(Maker& m);
/// Softmax, normalisation and other statistics of rows, with what is computed from them.
MadeList rows(Maker& m);

// Moves

MadeList moved(Maker& m);
/// Copies of what a kernel has just computed: concatenations and borders.
MadeList gathered(Maker& m);

// Products

MadeList product(Maker& m);
/// A recurrent cell whose steps are nodes of the graph.
MadeList unrolled_cell(Maker& m);
/// Parts of image networks: convolutions, their successors, and a pooling.
MadeList layers(Maker& m);

// Loops and branches over bodies that are drawn

MadeList for_each_loop(Maker& m);
MadeList while_loop(Maker& m);
MadeList branch(Maker& m);

}  // namespace graphs
