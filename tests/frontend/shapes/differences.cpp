// The table of intended differences from MXNet's infer_shape.
#include "differences.h"

#include <algorithm>

namespace shapes {

const std::vector<Difference>& differences() {
  using enum Difference::Kind;
  static const std::vector<Difference> table{
      // No elements, where MXNet's rules mean an unknown extent.
      {accepts,
       {"depth_to_space", "space_to_depth"},
       8,
       "An empty array has an empty result. MXNet's check is meant for unknown extents."},
      {accepts,
       {"max", "min"},
       28,
       "The reduction of no elements is its identity, as that of sum is. MXNet refuses every empty array, "
       "also "
       "if each result has elements to reduce, or if there are no results."},
      {accepts, {"diag"}, 2, "A diagonal outside of the array has no elements, as in numpy."},
      {refuses,
       {"take", "gather_nd", "SequenceLast", "_npi_argmax", "_npi_argmin", "slice_axis"},
       28,
       "An axis without elements has none to take. MXNet's infer_shape tells the shape that they would "
       "have."},
      {refuses,
       {"Pad", "Deconvolution", "_contrib_AdaptiveAvgPooling2D", "_contrib_BilinearResize2D"},
       43,
       "An image without pixels has no edge to repeat and no mean. The two resizing operators take images, "
       "(N, C, H, W); MXNet's infer_shape accepts more axes, which their kernels do not know."},
      {refuses,
       {"dot"},
       10,
       "Extents 0 and 5 cannot be contracted. To MXNet's rule an extent of 0 is unknown."},
      // Attributes that MXNet's rule does not look at.
      {refuses,
       {"reverse", "softmax", "softmin", "log_softmax", "argmax", "argmin", "argmax_channel", "_np_cumsum",
        "_contrib_div_sqrt_dim", "_shuffle"},
       26,
       "The array lacks the axis that the operator works along."},
      {refuses, {"_slice_assign_scalar"}, 3, "The slice has more axes than the array."},
      {refuses, {"im2col"}, 3, "A kernel of two axes needs images of two."},
      {refuses, {"Reshape"}, 7, "The numbers of elements differ. MXNet compares them when it runs."},
      {refuses,
       {"_split_v2"},
       4,
       "Equal parts must be equal. MXNet's Python function refuses others before it calls the operator."},
      {refuses,
       {"_npi_einsum"},
       2,
       "Two axes with one label have one extent, as in numpy. MXNet takes the diagonal of 1 by 5."},
      {refuses,
       {"_contrib_calibrate_entropy"},
       24,
       "A histogram has an odd number of bins, and one edge more. MXNet's rule looks at neither."},
      {refuses,
       {"_contrib_quantized_conv"},
       5,
       "The window is larger than the padded image, as of Convolution. MXNet's rule has extents of 0 there."},
      {accepts, {"_contrib_quantized_conv"}, 17, "Groups, as of Convolution. MXNet's operator has none."},
      {accepts,
       {"_contrib_quantized_pooling"},
       4,
       "Images of any number of axes, and empty ones, as of Pooling. MXNet's operator wants four axes and "
       "pixels."},
      // Inputs that MXNet's rule does not compare.
      {refuses,
       {"where"},
       20,
       "The condition has the shape of x, or one element for each row. MXNet compares it only if it has one "
       "axis and x more."},
      {refuses,
       {"LeakyReLU"},
       7,
       "The slopes have extents of the data's first two axes. MXNet compares them when it runs."},
      {refuses, {"stack", "_npi_stack"}, 94, "Arrays of one shape are stacked. MXNet looks at one of them."},
      {refuses,
       {"UpSampling"},
       9,
       "The images have pixels, one batch, and sizes that divide the result's. MXNet compares the channels "
       "alone."},
      {refuses,
       {"Crop"},
       6,
       "The result lies within the image, and both arrays are (N, C, H, W). MXNet compares nothing if it "
       "crops "
       "the centre."},
      {refuses,
       {"khatri_rao", "batch_take"},
       6,
       "Matrices are taken. MXNet's infer_shape accepts more axes."},
      {refuses,
       {"_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt"},
       8,
       "The last axis holds heads * 3 * d elements, and the attention is of these arrays. MXNet rounds down, "
       "and compares nothing."},
      {refuses, {"CTCLoss"}, 4, "There is a class beside the blank."},
      {refuses, {"FullyConnected"}, 1, "A bias has one axis, also if it has one element."},
      {refuses,
       {"pick"},
       2,
       "There is an index for each place. To MXNet's rule an index without axes is unknown."},
      // Rules that MXNet has wrong, or does not have.
      {accepts,
       {"LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"},
       6,
       "An array without axes is one sample. MXNet's rule reads the first axis, in numpy mode too."},
      {accepts, {"moments"}, 18, "Without axes all axes are reduced, as by MXNet's other reductions."},
      {accepts,
       {"GroupNorm"},
       2,
       "Data of (N, C) is normalised as (N, C, 1) is. MXNet's operator wants the third axis."},
      {accepts,
       {"SoftmaxOutput"},
       1,
       "A class for each sample of any number of axes. MXNet wants labels of the data's shape without the "
       "last "
       "axis there, and its gradient reads the first N of them."},
      {accepts,
       {"_npi_concatenate"},
       15,
       "With axis=None the arrays are flattened. MXNet's rule writes the flattened shape over the input's, "
       "so "
       "that such a symbol cannot be bound."},
      {other_outputs,
       {"_unravel_index"},
       11,
       "Indices of any shape have vectors of (axes, that shape). MXNet's rule knows lists of indices alone: "
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
