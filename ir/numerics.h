// The version of the rules that fix bits.
#pragma once

namespace kiln::ir {

/// The version of the rules in KilnOps.td and of the compositions of operators and gradients: increment it
/// with every change that changes bits. It is part of the disk cache's stamp.
/// * 2: block results of `reduce` are combined by the same tree. (1: in one chain.)
/// * 3: transposed convolutions, which gradients of convolutions are, have chains without the taps between
///   elements.
/// * 4: gradients of the weights of convolutions are sums over the places of all images, in their order.
/// * 5: transposed convolutions of one element are products of matrices; gradients of the others are a
///   convolution and its weights' gradient.
/// * 6: the statistics of a batch are sums of differences from an element of it; transposed convolutions with
///   strides to few filters are sums of the products of taps; sin and cos of f32 are computed in f32.
/// * 7: gradients of reflections and repeated edges are added axis by axis, the last axis first; the
///   statistics of GroupNorm are sums of differences from an element of the group; log2, log10, log1p, tan,
///   asin, acos and atan of f32 are computed in f32.
/// * 8: reductions over axes between which kept axes lie are reductions of each run of axes, one after the
///   other.
/// * 9: the order of a dot depends on k alone, that of a reduction on the rank and the reduced extents, whose
///   chains of 32 are combined pairwise; normalizations scale differences from the mean, whose sums are of
///   differences from an element; erf of f32 reaches 1; activations of half precision round once; gradients
///   pass casts to integers; the gradient of relu is NaN where its result is; clip, sigmoid, smooth_l1,
///   gamma, degrees and radians of integers, and sums of other types than their operand's, are MXNet's.
inline constexpr int numerics_version = 9;

}  // namespace kiln::ir
