// The version of the rules that fix bits.
#pragma once

namespace kiln::ir {

/// The version of the rules in KilnOps.td and of the compositions of operators and gradients: increment it
/// with every change that changes bits. It is part of the disk cache's stamp.
///
/// * 2: block results of `reduce` are combined by the same tree. (1: in one chain.)
///
/// * 3: transposed convolutions, which gradients of convolutions are, have chains without the taps between
///   elements.
///
/// * 4: gradients of the weights of convolutions are sums over the places of all images, in their order.
///
/// * 5: transposed convolutions of one element are products of matrices; gradients of the others are a
///   convolution and its weights' gradient.
///
/// * 6: the statistics of a batch are sums of differences from an element of it. Transposed convolutions with
///   strides to few filters are sums of the products of taps. Sin and cos of f32 are computed in f32.
///
/// * 7: gradients of reflections and repeated edges are added axis by axis, the last axis first. The
///   statistics of GroupNorm are sums of differences from an element of the group. These functions of f32 are
///   computed in f32: log2, log10, log1p, tan, asin, acos and atan.
///
/// * 8: reductions over axes between which kept axes lie are reductions of each run of axes, one after the
///   other.
///
/// * 9: the order of a dot depends on k alone. The order of a reduction depends on the rank and the reduced
///   extents; its chains of 32 are combined pairwise. Normalizations scale differences from the mean, whose
///   sums are of differences from an element. Erf of f32 reaches 1. Activations of half precision round once.
///   Gradients pass casts to integers. The gradient of relu is NaN where its result is. These are
///   MXNet's: clip, sigmoid, smooth_l1, gamma, degrees and radians of integers; sums of another type than
///   their operand's.
///
/// * 10: a contraction of bools is whether one of its products is 1. (9: whether an odd number of them is.)
///
/// * 11: products and convolutions of bf16, and of f32 under Precision::bf16, sum by paired32. Transposed
///   convolutions of large batches have the chains of small ones. amp_cast leaves integers and f64.
inline constexpr int numerics_version = 11;

}  // namespace kiln::ir
