#include "shapes/differences.h"

#include <algorithm>

namespace shapes {

const std::vector<Difference>& differences() {
  using enum Difference::Kind;
  static const std::vector<Difference> table{
      // No elements.
      {accepts,
       {"depth_to_space", "space_to_depth"},
       0,
       "An empty array has an empty result. MXNet's check is meant for unknown extents."},
      {accepts,
       {"max", "min"},
       0,
       "The reduction of no elements is its identity, as that of sum is. MXNet refuses every empty array, "
       "also "
       "if no result reduces nothing; its numpy operators refuse as Kiln's do."},
      {refuses,
       {"take", "gather_nd", "SequenceLast", "_npi_argmax", "_npi_argmin", "slice_axis"},
       0,
       "An axis without elements has none to take. MXNet infers a shape, and its kernel reads outside of the "
       "array."},
      {refuses,
       {"Pad", "Deconvolution", "_contrib_AdaptiveAvgPooling2D", "_contrib_BilinearResize2D"},
       0,
       "An image without pixels has no edge to repeat and no mean. The two resizing operators take images, "
       "(N, C, H, W); MXNet infers a shape for more axes, and its kernel reads the first four."},
      {refuses,
       {"dot"},
       0,
       "Extents 0 and 5 cannot be contracted. To MXNet's rule an extent of 0 is unknown."},
      // Axes that there are not.
      {refuses,
       {"reverse", "softmax", "softmin", "log_softmax", "argmax", "argmin", "argmax_channel", "_np_cumsum",
        "_contrib_div_sqrt_dim", "_shuffle"},
       0,
       "An attribute names an axis that the array lacks. MXNet infers a shape, and its kernel throws or "
       "reads "
       "outside of the array."},
      {refuses,
       {"_slice_assign_scalar"},
       0,
       "The slice has more axes than the array. MXNet infers the array's shape without a look at the slice."},
      {refuses,
       {"im2col"},
       0,
       "A kernel of two axes needs images of two. MXNet ignores the axes behind them."},
      // Inputs that MXNet's rule does not compare.
      {refuses,
       {"where"},
       0,
       "The condition has the shape of x, or one element for each row. MXNet compares it only if it has one "
       "axis and x more, and reads outside of it otherwise."},
      {refuses,
       {"LeakyReLU"},
       0,
       "gamma has one element, or one for each channel. MXNet compares nothing, and reads outside of it."},
      {refuses,
       {"stack", "_npi_stack"},
       0,
       "Arrays of one shape are stacked. MXNet takes that of the first one for all."},
      {refuses, {"Reshape"}, 0, "The numbers of elements differ. MXNet compares them when it runs."},
      {refuses,
       {"UpSampling"},
       0,
       "The images have one batch, and sizes that divide the result's. MXNet looks at the first image "
       "alone."},
      {refuses,
       {"Crop"},
       0,
       "The result must lie within the image, and both arrays are (N, C, H, W). MXNet compares neither if it "
       "crops the centre."},
      {refuses,
       {"khatri_rao", "batch_take"},
       0,
       "Matrices are taken. MXNet infers a shape for more axes, and its kernel reads the first two."},
      {refuses,
       {"_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt"},
       0,
       "The last axis holds heads * 3 * d elements, and the attention is of these arrays. MXNet rounds down, "
       "and compares nothing."},
      {refuses,
       {"CTCLoss"},
       0,
       "There is a class beside the blank. MXNet infers a shape, and fails when it runs."},
      {refuses,
       {"_npi_einsum"},
       0,
       "Two axes with one label have one extent. MXNet takes the diagonal of 1 by 5, numpy does not."},
      {refuses,
       {"_split_v2"},
       0,
       "Equal parts must be equal. MXNet's Python function refuses others before its operator is called."},
      {refuses,
       {"FullyConnected"},
       0,
       "A bias has one axis. MXNet compares the number of elements, if there is one."},
      {refuses,
       {"pick"},
       0,
       "There is an index for each place. To MXNet's rule an index without axes is unknown."},
      // What MXNet's rule has wrong, or does not have.
      {accepts,
       {"moments"},
       0,
       "Without `axes` all axes are reduced, as MXNet's documentation says; its operator refuses that."},
      {accepts,
       {"GroupNorm"},
       0,
       "Data of (N, C) is normalised as (N, C, 1) is. MXNet's operator wants the third axis."},
      {accepts,
       {"SoftmaxOutput"},
       0,
       "A class for each sample of any number of axes. MXNet wants labels of the shape (N, ...) without the "
       "last "
       "axis there, and its gradient reads the first N of them."},
      {accepts,
       {"_npi_concatenate"},
       0,
       "With axis=None the arrays are flattened. MXNet's rule writes the flattened shape over the input's, "
       "so "
       "that such a symbol cannot be bound."},
      {other_outputs,
       {"_unravel_index"},
       0,
       "Indices of any shape have vectors of (axes, that shape). MXNet's rule knows vectors of indices "
       "alone: "
       "for others its result is too small."},
  };
  return table;
}

const Difference* find_difference(const std::string& op, Difference::Kind kind) {
  for (const Difference& d : differences())
    if (d.kind == kind && std::find(d.operators.begin(), d.operators.end(), op) != d.operators.end())
      return &d;
  return nullptr;
}

}  // namespace shapes
