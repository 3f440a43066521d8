// The operators of MXNet's numpy mode. Their results may be scalars, and bools.
#include "graphs/samples.h"

namespace graphs {

Rows numpy_rows() {
  using kiln::DType;
  using kiln::Shape;
  const Samples shapes = of_shapes({{1}, {17}, {33}, {3, 5}, {2, 3, 5}, {2, 1, 7, 3}, {0}});
  const Samples broadcast{{{{1}, {17}}},         {{{3, 5}, {5}}},          {{{3, 1}, {1, 31}}},
                          {{{2, 3, 5}, {3, 1}}}, {{{2, 1, 3}, {1, 5, 1}}}, {{{16, 16}, {16, 16}}},
                          {{{2, 0}, {1, 1}}}};
  const Samples with_number =
      join({of_shapes({{17}, {3, 5}}, {{"scalar", "2.5"}}), of_shapes({{33}}, {{"scalar", "0"}}),
            of_shapes({{2, 3, 5}}, {{"scalar", "-3"}}), of_shapes({{31}}, {{"scalar", "nan"}})});
  const Samples axes = join({of_shapes({{17}, {3, 5}, {1031}}),
                             of_shapes({{3, 17}, {2, 3, 5}}, {{"axis", "1"}, {"keepdims", "True"}}),
                             of_shapes({{2, 3, 2, 5}}, {{"axis", "(0, 2)"}}),
                             of_shapes({{33, 2}}, {{"axis", "0"}}), reductions_with_ones("axis")});
  const Samples places = join({of_shapes({{17}, {3, 5}}), of_shapes({{3, 17}, {2, 3, 5}}, {{"axis", "1"}})});
  return {
      {{"_npx_relu", "_npi_absolute", "_npi_negative", "_npi_sign", "_npi_square", "_npi_rint", "_npi_ceil",
        "_npi_floor", "_npi_trunc", "_npi_fix", "_npi_reciprocal"},
       shapes,
       number_dtypes},
      {{"_npx_sigmoid", "_npi_sqrt",    "_npi_cbrt",    "_npi_exp",     "_npi_expm1",  "_npi_log",
        "_npi_log10",   "_npi_log2",    "_npi_log1p",   "_npi_sin",     "_npi_cos",    "_npi_tan",
        "_npi_arcsin",  "_npi_arccos",  "_npi_arctan",  "_npi_sinh",    "_npi_cosh",   "_npi_tanh",
        "_npi_arcsinh", "_npi_arccosh", "_npi_arctanh", "_npi_degrees", "_npi_radians"},
       shapes,
       float_dtypes},
      {{"_npi_add_scalar", "_npi_subtract_scalar", "_npi_rsubtract_scalar", "_npi_multiply_scalar",
        "_npi_mod_scalar", "_npi_rmod_scalar", "_npi_power_scalar", "_npi_rpower_scalar",
        "_npi_true_divide_scalar", "_npi_rtrue_divide_scalar", "_npi_equal_scalar", "_npi_not_equal_scalar",
        "_npi_greater_scalar", "_npi_greater_equal_scalar", "_npi_less_scalar", "_npi_less_equal_scalar"},
       with_number,
       float_dtypes},
      {{"_npi_add", "_npi_subtract", "_npi_multiply", "_npi_mod", "_npi_power", "_npi_true_divide",
        "_npi_equal", "_npi_not_equal", "_npi_greater", "_npi_greater_equal", "_npi_less", "_npi_less_equal"},
       join({broadcast, {{{{3, 5}, Input({3, 5}, {}, DType::i32)}}}}),
       float_dtypes},
      {{"_npi_where"},
       {{{{17}, {17}, {17}}}, {{{3, 1}, {3, 5}, {5}}}, {{Input({3, 5}, {}, DType::boolean), {1}, {3, 5}}}},
       number_dtypes},
      {{"_npi_zeros", "_npi_ones"},
       with_settings({},
                     {{{"shape", "(17,)"}}, {{"shape", "()"}}, {{"shape", "(3, 5)"}, {"dtype", "int32"}}}),
       {DType::f32}},
      {{"_npi_full_like"}, of_shapes({{17}, {3, 5}}, {{"fill_value", "2.5"}}), number_dtypes},
      {{"_npi_arange"},
       with_settings({},
                     {{{"start", "0"}, {"stop", "17"}}, {{"start", "1"}, {"stop", "3"}, {"step", "0.25"}}}),
       {DType::f32}},
      {{"_np_sum", "_np_prod", "_npi_mean"},
       join({axes, of_shapes({{3, 5}}, {{"dtype", "float64"}, {"initial", "2"}})}),
       number_dtypes},
      {{"_np_max", "_np_min"},
       join({axes, of_shapes({{3, 5}}, {{"axis", "0"}, {"initial", "0.5"}})}),
       number_dtypes},
      {{"_npi_var", "_npi_std"},
       join({axes, of_shapes({{3, 5}}, {{"axis", "1"}, {"ddof", "1"}})}),
       float_dtypes},
      {{"_npi_argmax", "_npi_argmin"}, places, number_dtypes},
      {{"_np_reshape"},
       {{{{15}}, {{"newshape", "(3, 5)"}}},
        {{{2, 3, 5}}, {{"newshape", "(-1, 5)"}}},
        {{{1}}, {{"newshape", "()"}}}},
       all_dtypes},
      {{"_npx_reshape"},
       {{{{2, 3, 5}}, {{"newshape", "(-5, -2)"}}},
        {{{2, 6, 5}}, {{"newshape", "(-2, -6, 2, -1, -4)"}}},
        {{{1, 3, 5}}, {{"newshape", "(-3, -1)"}}}},
       all_dtypes},
      {{"_np_transpose"}, {{{{17, 33}}}, {{{2, 3, 5}}, {{"axes", "(1, 0, 2)"}}}}, all_dtypes},
      {{"_np_squeeze"}, {{{{1, 17, 1}}}, {{{3, 1, 5}}, {{"axis", "1"}}}, {{{1}}}}, all_dtypes},
      {{"_np_moveaxis"},
       {{{{2, 3, 5}}, {{"source", "(0,)"}, {"destination", "(2,)"}}},
        {{{2, 3, 5, 1}}, {{"source", "(0, 3)"}, {"destination", "(1, 0)"}}}},
       all_dtypes},
      {{"_npi_concatenate"},
       {{{{3, 5}, {2, 5}}, {{"num_args", "2"}}},
        {{{3, 5}, {3, 1}}, {{"num_args", "2"}, {"axis", "1"}}},
        {{{3, 5}, {17}}, {{"num_args", "2"}, {"axis", "None"}}}},
       all_dtypes},
      {{"_npi_stack"},
       {{{{17}, {17}}, {{"num_args", "2"}}}, {{{3, 5}, {3, 5}}, {{"num_args", "2"}, {"axis", "1"}}}},
       all_dtypes},
      {{"_npi_broadcast_to"},
       {{{{1}}, {{"shape", "(17,)"}}}, {{{3, 1}}, {{"shape", "(2, -2, 5)"}}}},
       all_dtypes},
      {{"_np_dot"}, {{{{3, 5}, {5, 7}}}, {{{17}, {17}}}, {{{2, 3, 5}, {4, 5, 6}}}}, float_dtypes},
      {{"_npi_matmul"},
       join({{{{{3, 5}, {5, 7}}}, {{{17}, {17, 3}}}, {{{2, 1, 3, 5}, {4, 5, 6}}}, {{{2, 3, 5}, {5}}}},
             products_with_ones({}),
             // A batch; one operand has a batch of one.
             with_ones({2, 3, 17, 5},
                       [](const Shape& s) -> Sample {
                         return {{{s[0], s[1], s[3]}, {1, s[3], s[2]}}};
                       }),
             with_ones({2, 3, 17, 5},
                       [](const Shape& s) -> Sample {
                         return {{{s[1], s[3]}, {s[0], s[3], s[2]}}};
                       })}),
       float_dtypes},
      {{"_npi_tensordot"},
       with_ones({2, 3, 5, 17},
                 [](const Shape& s) -> Sample {
                   return {{{s[0], s[1], s[2]}, {s[2], s[1], s[3]}},
                           {{"a_axes_summed", "(1, 2)"}, {"b_axes_summed", "(1, 0)"}}};
                 }),
       float_dtypes},
      {{"_npi_tensordot_int_axes"},
       {{{{2, 3, 5}, {3, 5, 4}}, {{"axes", "2"}}}, {{{3}, {5}}, {{"axes", "0"}}}},
       float_dtypes},
      {{"_npi_einsum"},
       join({{{{{3, 5}, {5, 7}}, {{"num_args", "2"}, {"subscripts", "ij,jk->ik"}}},
              {{{5, 5}}, {{"num_args", "1"}, {"subscripts", "ii->i"}}},
              {{{2, 3, 17}, {2, 17}}, {{"num_args", "2"}, {"subscripts", "bij,bj->bi"}}},
              {{{3, 5}, {5}, {3}}, {{"num_args", "3"}, {"subscripts", "ij,j,i->"}}}},
             products_with_ones({{"num_args", "2"}, {"subscripts", "bij,bjk->bik"}}),
             products_with_ones({{"num_args", "2"}, {"subscripts", "bij,bkj->kbi"}}, false, true)}),
       float_dtypes},
  };
}

}  // namespace graphs
