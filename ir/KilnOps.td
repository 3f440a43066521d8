//===- KilnOps.td - the kiln dialect --------------------------------------===//
//
// Semantics, stated once for all operations
//
// * Values are ranked tensors with static shapes. Element types: f32, f64, f16, bf16, i8, ui8 (MXNet's uint8), i32, i64 and
//   i1 (bool; one byte, 0 or 1, in memory). An array of rank 0 has one element.
// * Every operation is total and its result is fixed bit by bit by its operands and attributes; all NaNs count as one. No pass,
//   layout, vector width or number of threads may change it.
// * Arithmetic is IEEE 754 binary, round to nearest even, subnormals kept, one rounding per operation: nothing is
//   contracted or reassociated. f16 and bf16 are computed in f32 and rounded after every operation, in a fused chain too.
// * Integers wrap modulo 2^n. x / 0 = 0, the least integer / -1 wraps, x mod 0 = 0.
// * Operations have no side effects. The writes of a call (in-place operators, auxiliary states) are the last results of the
//   function; its attribute `kiln.writes` lists their inputs.
// * Locations are NameLoc(node name, FileLineColLoc(the user's line)).
//
// A change of a rule that changes bits increments numerics_version (ir/numerics.h), part of the disk cache's stamp.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_OPS
#define KILN_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Kiln_Dialect : Dialect {
  let name = "kiln";
  let cppNamespace = "::kiln::ir";
  let summary = "Tensor primitives whose results are fixed bit by bit";
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;  // kiln.buffers, kiln.prepacked
  let useDefaultAttributePrinterParser = 1;
}

// `stages` says where an operation may stand, by a letter or a dot for each place (ir/stages.h verifies it):
//   G  a graph: as built and simplified, bodies of loops and branches included
//   L  lowered for the target
//   K  among kernels: with fusions formed and buffers assigned
//   F  in the body of a fusion
class Kiln_Base<string mnemonic, string stages, list<Trait> traits = []> : Op<Kiln_Dialect, mnemonic, traits> {
  // Whether axes may be permuted together with the values of its lists, which have one for each axis.
  bit perAxis = 0;
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral stages = "}] # stages # [{";
    static constexpr bool per_axis = }] # !if(perAxis, "true", "false") # [{;
  }];
}
class Kiln_Op<string mnemonic, string stages, list<Trait> traits = []> : Kiln_Base<mnemonic, stages, !listconcat([Pure], traits)>;

def Kiln_Tensor : ConfinedType<StaticShapeTensorOf<[AnyType]>, [CPred<"::kiln::ir::is_countable($_self)">],
                               "tensor that a process can address">;

//===----------------------------------------------------------------------===//
// Places in memory
//===----------------------------------------------------------------------===//

class Kiln_Enum<string name, list<string> words>
    : I32EnumAttr<name, "", !foreach(i, !range(!size(words)), I32EnumAttrCase<words[i], i>)> {
  let cppNamespace = "::kiln::ir";
}

def Kiln_Space : Kiln_Enum<"Space", ["arena", "output", "alias", "constant", "prepacked", "input"]> { let genSpecializedAttr = 0; }

// The location of a value during a call, set by buffer assignment (passes/plan_buffers.h).
def Kiln_Place : AttrDef<Kiln_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "the location of a value during a call";
  let description = [{
    * `arena N`: byte N of the call's arena
    * `output N`: result N of the call, written directly
    * `alias N`: the memory of operand N
    * `constant N`: constant N of the function, in order of appearance
    * `prepacked N + B`: byte B of the results of prepacked operation N, in order of appearance
    * `input N`: the memory of written input N, in place of its old contents
  }];
  let parameters = (ins EnumParameter<Kiln_Space>:$space, "std::int64_t":$number, DefaultValuedParameter<"std::int64_t", "0">:$offset);
  let assemblyFormat = "`<` $space $number (`+` $offset^)? `>`";
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

// Words of operations; ir/words.h, generated from these lists, has them as C++ enums (ir/words.cmake).
def Kiln_UnaryEnum : Kiln_Enum<"Unary", [
  "neg", "abs", "sign", "ceil", "floor", "round", "rint", "trunc", "sqrt", "rsqrt", "cbrt", "exp", "exp_nonpositive",
  "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
  "acosh", "atanh", "erf", "logical_not"]>;
def Kiln_BinaryEnum : Kiln_Enum<"Binary", [
  "add", "sub", "mul", "div", "mod", "pow", "max", "max_nnan", "min", "hypot", "logical_and", "logical_or", "logical_xor"]>;
def Kiln_CompareEnum : Kiln_Enum<"Compare", ["eq", "ne", "lt", "le", "gt", "ge"]>;
def Kiln_ReduceEnum : Kiln_Enum<"Reduce", ["sum", "sum_squares", "prod", "max", "max_nnan", "min"]>;
def Kiln_ScatterEnum : Kiln_Enum<"Scatter", ["replace", "add"]>;
def Kiln_ExtendEnum : Kiln_Enum<"Extend", ["edge", "reflect"]>;
def Kiln_PackEnum : Kiln_Enum<"PackKind", ["matrix", "transposed", "convolution", "winograd", "words", "pairs"]>;

// The algorithm of a contraction fixes its bits. It is chosen once, from logical shapes, dtypes and the precision, when the dialect
// is built from a graph (ir/algorithm.h, ir/contraction.h); no pass changes it. Defined at `dot` and `convolution`.
def Kiln_AlgorithmEnum : Kiln_Enum<"Algorithm", ["chained512", "paired32", "winograd", "tensor_cores"]>;
def Kiln_Algorithm : DefaultValuedAttr<Kiln_AlgorithmEnum, "::kiln::ir::Algorithm::chained512">;

def UnaryOp : Kiln_Op<"unary", "GL.F", [SameOperandsAndResultType]> {
  let summary = "a function of each element";
  let description = [{
    `round` rounds halves away from zero, `rint` to even, `trunc` towards zero. `sign` of NaN and of both zeros is +0.
    `sqrt` is rounded correctly; `rsqrt` is 1 / sqrt(x), two roundings. `logical_not` is 1 where x is zero, else 0.
    `exp_nonpositive` is exp for x <= 0 (unspecified for x > 0), used by softmax. It is shorter than `exp`: in float32, results
    below 2^-126.5 are 0.
    The transcendental functions are Kiln's own (codegen/math), each with an error bound in ULP.
  }];
  let arguments = (ins Kiln_UnaryEnum:$kind, Kiln_Tensor:$x);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
  let hasFolder = 1;
}

def BinaryOp : Kiln_Op<"binary", "GL.F", [SameOperandsAndResultType]> {
  let summary = "a function of two elements";
  let description = [{
    `div` of integers truncates. `mod` has the sign of the divisor, a zero that of the
    dividend, but +0 where the divisor has another. `max` and `min`: NaN wins; of zeros of both signs, the right
    operand. `max_nnan` is lhs > rhs ? lhs : rhs, one instruction: `max` without NaNs.
    `logical_*` treat nonzero operands as true and give 1 or 0.
  }];
  let arguments = (ins Kiln_BinaryEnum:$kind, Kiln_Tensor:$lhs, Kiln_Tensor:$rhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs)";
  let hasFolder = 1;
}

def FmaOp : Kiln_Op<"fma", "GL.F", [SameOperandsAndResultType]> {
  let summary = "a * b + c of three elements";
  let description = [{ Floats are rounded once; f16 and bf16 to f32 first, then to their type. Integers wrap. }];
  let arguments = (ins Kiln_Tensor:$a, Kiln_Tensor:$b, Kiln_Tensor:$c);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a)";
}

def CompareOp : Kiln_Op<"compare", "GL.F", [SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "an ordered comparison of two elements; `ne` alone holds for NaN";
  let arguments = (ins Kiln_CompareEnum:$kind, Kiln_Tensor:$lhs, Kiln_Tensor:$rhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def SelectOp : Kiln_Op<"select", "GL.F", [AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "one of two elements, by a bool";
  let arguments = (ins Kiln_Tensor:$condition, Kiln_Tensor:$on_true, Kiln_Tensor:$on_false);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def CastOp : Kiln_Op<"cast", "GL.F", [SameOperandsAndResultShape]> {
  let summary = "each element in another type";
  let description = [{
    Float to integer: truncation to i64 (NaN and out-of-range values give the least i64), then wrapping. To bool: x != 0. Integers
    wrap. Float to float: round to nearest, ties to even.
  }];
  let arguments = (ins Kiln_Tensor:$x);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

def ConstantOp : Kiln_Op<"constant", "GLKF", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "constant elements; an array of one value is a splat";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def IotaOp : Kiln_Op<"iota", "GL.F"> {
  let summary = "the index along an axis, in the element type";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def RandomUniformOp : Kiln_Op<"random_uniform", "GL.F"> {
  let summary = "uniform in [0, 1)";
  let description = [{
    Element i (in C order) comes from Philox 4x32-10 with the counter (i, c + draw) and the seed as key. c is the call's random
    counter, `draw` the counter offset. f32: the upper 24 bits of the word times 2^-24. f64 (word 0 only): the upper 27 bits of word 0, then the upper 26 of
    word 1, as one number of 53 bits, times 2^-53. i64 (word 0 only): word 0 in the lower half, word 1 in the upper; all values.
  }];
  let arguments = (ins I64Attr:$draw, DefaultValuedAttr<I64Attr, "0">:$word);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$draw (`word` $word^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// View operations, and copies with a change of layout
//===----------------------------------------------------------------------===//

def BroadcastOp : Kiln_Op<"broadcast", "GL.F"> {
  let summary = "axis i of x becomes axis dims[i]; new axes, and axes of extent 1 in x, are repeated";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $dims attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ReshapeOp : Kiln_Op<"reshape", "GLKF"> {
  let summary = "the elements of x in C order with another shape";
  let arguments = (ins Kiln_Tensor:$x);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TransposeOp : Kiln_Op<"transpose", "GL.F"> {
  let summary = "axis i of the result is axis permutation[i] of x";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $permutation attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def SliceOp : Kiln_Op<"slice", "GL.F"> {
  let summary = "elements start, start + step, ... below limit on each axis";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$limit, DenseI64ArrayAttr:$step);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $start `to` $limit `by` $step attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let perAxis = 1;
}

def ReverseOp : Kiln_Op<"reverse", "GL.F", [SameOperandsAndResultType]> {
  let summary = "the elements in reverse order along the axes";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $axes attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def PadOp : Kiln_Op<"pad", "GLKF"> {
  let summary = "x padded by `low` and `high` elements of one value on each axis";
  let arguments = (ins Kiln_Tensor:$x, TypedAttrInterface:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $value $low $high attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let perAxis = 1;
}

def ExtendOp : Kiln_Op<"extend", "GLK."> {
  let summary = "x continued by `low` and `high` elements on each axis: its edges repeated, or itself reflected in them";
  let description = [{
    Along an axis of n elements, element i of the result is element s(i - low) of x. For `edge` s(j) = min(max(j, 0), n - 1). For
    `reflect`, where `low` and `high` are below n, s(j) = last - |last - |j|| with last = n - 1.
  }];
  let arguments = (ins Kiln_ExtendEnum:$kind, Kiln_Tensor:$x, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x $low $high attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let perAxis = 1;
}

def ConcatenateOp : Kiln_Op<"concatenate", "GLK."> {
  let summary = "concatenation along an axis";
  let arguments = (ins Variadic<Kiln_Tensor>:$parts, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$parts `axis` $axis attr-dict `:` functional-type($parts, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def EmptyOp : Kiln_Op<"empty", "..K."> {
  let summary = "an uninitialised array; every element is written before it is read";
  let arguments = (ins);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def InsertOp : Kiln_Op<"insert", "GLKF", [AllTypesMatch<["x", "result"]>]> {
  let summary = "x with the slice start, start + step, ... replaced by `update`";
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$update, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$step);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$update `into` $x $start `by` $step attr-dict `:` type($update) `into` type($x)";
  let hasVerifier = 1;
  let perAxis = 1;
}

def GatherOp : Kiln_Op<"gather", "GL.F"> {
  let summary = "slices of x along an axis, chosen by integer indices that are clamped to the axis";
  let description = [{ The shape of the result is that of x with `axis` replaced by the axes of the indices. }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$indices, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $indices `axis` $axis attr-dict `:` type($x) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def CheckBoundsOp : Kiln_Base<"check_bounds", "GLK.", [NoMemoryEffect, AllTypesMatch<["indices", "result"]>]> {
  let summary = "the indices; the call throws if one is outside 0 .. `extent` - 1";
  let description = [{
    The kiln::Error names the first such index in C order, its position, `node` and the node's line. The call then writes no input and
    returns no result. The operation is never folded or hoisted out of the body of a loop or branch, which may not run. Without
    users it is dead, as any operation.
  }];
  let arguments = (ins Kiln_Tensor:$indices, I64Attr:$extent, StrAttr:$node);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$indices `below` $extent `for` $node attr-dict `:` type($indices)";
  let hasVerifier = 1;
}

def ScatterOp : Kiln_Op<"scatter", "GLK.", [AllTypesMatch<["x", "result"]>]> {
  let summary = "x with slices along an axis replaced by, or incremented by, slices of `updates`";
  let description = [{
    `updates` has the shape of `gather x indices axis`. Slices are applied in C order of the indices: with `replace` the last duplicate
    wins; with `add` each sum is rounded. An out-of-range index is dropped.
  }];
  let arguments = (ins Kiln_ScatterEnum:$kind, Kiln_Tensor:$x, Kiln_Tensor:$indices, Kiln_Tensor:$updates, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = [{
    $kind $updates `into` $x $indices `axis` $axis attr-dict `:` type($updates) `into` type($x) `,` type($indices)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sorting and scans
//===----------------------------------------------------------------------===//

def SortOp : Kiln_Op<"sort", "GLK."> {
  let summary = "the stable argsort along the last axis, or the first of it, as i64 indices";
  let description = [{
    Ascending, or greatest first with `descending`. In both directions NaNs (of either sign) are last, -0 and +0 are equal, and equal
    elements keep the order of their indices: the result is unique. The last extent of the result may be `count`, the first elements
    of each row alone, if 2 * count + 64 < extent.

    `scratch` is workspace of the kernel with unspecified contents: (rows, extent) of i64, or (rows, 3 * extent) if elements have more
    than 32 bits or a row has 2^31 elements or more. For the first elements alone (rows, 2 * (2 * count + 64)), or (rows, 4 * ...).
  }];
  let arguments = (ins Kiln_Tensor:$x, UnitAttr:$descending);
  let results = (outs Kiln_Tensor:$order, Kiln_Tensor:$scratch);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($order) `,` type($scratch)";
  let hasVerifier = 1;
}

def CumulativeOp : Kiln_Op<"cumulative", "GLK.", [SameOperandsAndResultType]> {
  let summary = "inclusive scan (sum, product, maximum or minimum) along an axis";
  let description = [{ result[0] = x[0]; result[r] = result[r - 1] op x[r], rounded each time. For max and min NaN wins. }];
  let arguments = (ins Kiln_ReduceEnum:$kind, Kiln_Tensor:$x, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x `axis` $axis attr-dict `:` type($x)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

def ReduceOp : Kiln_Op<"reduce", "GL.F"> {
  let summary = "sum, product, maximum or minimum over axes";
  let description = [{
    Where kept axes lie between reduced axes, these are several runs. The last run is reduced first, its results over the preceding run,
    and so on. Results of `sum_squares` are reduced by `sum`. Runs of one element are left out, if there is another. The elements of a
    run are numbered r = 0, 1, ... in C order. The order of operations depends on the rank, the reduced axes and their extents, and never on
    the extent of a kept axis, even if it is 1:

    * `interleaved64`, if the last axis is reduced: blocks of 1024 consecutive r. In each, partial result p[j] for j in 0..63 starts
      from the identity and accumulates r = j, j + 64, ... in order; then p[j] = p[j] op p[j+32] for j < 32, and so on down to p[0].
      The results of several blocks are reduced by the same rule, until one is left.
    * `pairwise32`, if a kept axis follows: chains of 32 consecutive r, each from the identity in order. Of the results q[0], q[1], ... of
      the chains, neighbours are combined, q[i] = q[2i] op q[2i+1], until one is left; one without a neighbour stays as it is.

    The identity, also the result over no elements, is +0, 1, -inf (least integer) or +inf (greatest). For `max` and `min` NaN wins.
    `max_nnan` may be used if a NaN makes the maximum irrelevant: softmax, whose sum is NaN then. `sum_squares` accumulates x * x in
    one rounding (kiln.fma) into p[j] or the chain, and combines these as `sum` does.

    Elements that equal the identity and follow the last other element change no bit of a `sum` or `sum_squares` (ir/README.md).
  }];
  let arguments = (ins Kiln_ReduceEnum:$kind, Kiln_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x $axes attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def DotOp : Kiln_Op<"dot", "GL.F"> {
  let summary = "batched contraction: (batch..., m, k) times (batch..., k, n)";
  let description = [{
    With `transpose_lhs` lhs is stored (batch..., k, m), with `transpose_rhs` rhs is stored (batch..., n, k).
    * `chained512`: k is split into chunks of 512 (the last may be shorter). Each chunk is one chain of fused multiply-adds from +0 in
      ascending order; the chunk sums are added in order, starting from the first one. The order depends on neither m, n nor the batch.
      The place of a product in the order depends on its k alone, so that trailing products of +0 change no sum but -0 (ir/README.md).
    * `paired32`, of bf16 operands to a result of f32: k is split into steps of 32, the last one filled with +0. In a step, the products
      of the even elements are one chain of fused multiply-adds from +0 in ascending order, the products of the odd elements another.
      The two sums are added, and that sum is added to the total of the steps before it, which starts from +0. Each operation flushes
      subnormal operands and results to zeros of their sign. This is the order of AMX's TDPBF16PS.
    * `tensor_cores`, of NVIDIA GPUs, chosen instead of `chained512` where the precision permits it: operands are f16, bf16 or f32, the
      result f32. Each chunk of 512 is one chain of `mma` instructions from +0 over steps of 16 values of k (f32: 8, whose factors are
      rounded to TF32 first) in ascending order, the last one filled with zeros; the chunk sums are added as in `chained512`. The GPU's
      architecture determines the order and the roundings within a step.
    Integers wrap.
  }];
  let arguments = (ins Kiln_Tensor:$lhs, Kiln_Tensor:$rhs, Kiln_Algorithm:$algorithm, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`by` $algorithm^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

class Kiln_Window<dag operands> {
  dag arguments = !con(operands, (ins DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilate, DenseI64ArrayAttr:$pad_low,
                                      DenseI64ArrayAttr:$pad_high));
}

def ConvolutionOp : Kiln_Op<"convolution", "G..."> {
  let summary = "cross-correlation: x (n, c, spatial...), w (o, c / groups, kernel...)";
  let description = [{
    * `chained512`: the contracted index runs over blocks of 16 input channels of the group, then the kernel's axes, then the channel
      within the block, and is summed in chunks as in `dot`, for any number of results. A tap in the padding multiplies +0.
    * `paired32`, of bf16 operands to a result of f32: the contracted index runs over the kernel's axes, then over the input channels of
      the group, which +0 fills up to a multiple of 32, and is summed in steps as in `dot`. A tap in the padding multiplies +0.
    * `winograd`, chosen for f32 kernels of 3x3 at stride 1 with at least 16 input and output channels and 7x7 results, independent of
      the batch: F(2x2, 3x3) (A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015).

    F(2x2, 3x3) computes a tile of 2x2 results from 4x4 inputs d and the kernels g as A' M A. U = G g G' in f64, rounded once;
    V = B' d B; M[p] is the sum over c of V[p, c] * U[p, c] in chunks. Transforms apply to each row, then to each column:
      B': d0 - d2, d1 + d2, d2 - d1, d1 - d3    A': (m0 + m1) + m2, (m1 - m2) - m3    G: g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2
  }];
  let arguments = Kiln_Window<(ins Kiln_Tensor:$x, Kiln_Tensor:$w, I64Attr:$groups, Kiln_Algorithm:$algorithm)>.arguments;
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $w (`by` $algorithm^)? attr-dict `:` type($x) `,` type($w) `->` type($result)";
  let hasVerifier = 1;
}

def ConvolutionWeightsOp : Kiln_Op<"convolution_weights", "G..."> {
  let summary = "gradient of a convolution's weights: x (n, c, spatial...), g (n, o, spatial'...) to (o, c, kernel...)";
  let description = [{
    Element (o, c, t...) is the sum over k = (n, place...) in C order of x[n, c, place * stride + t * dilate - pad_low] * g[n, o, place],
    in chunks as `chained512` of `dot`. A tap in the padding multiplies +0. If `depthwise`, g has the channels of x, and element
    (c, 0, t...) multiplies g[n, c, place].
  }];
  let arguments = Kiln_Window<(ins Kiln_Tensor:$x, Kiln_Tensor:$g, UnitAttr:$depthwise, DenseI64ArrayAttr:$kernel)>.arguments;
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $g attr-dict `:` type($x) `,` type($g) `->` type($result)";
  let hasVerifier = 1;
}

def ReduceWindowOp : Kiln_Op<"reduce_window", "GL.F"> {
  let summary = "sum or maximum over sliding windows of the spatial axes of (n, c, spatial...)";
  let description = [{
    Separable: one chain over the taps of the last axis, in order, starting from the first tap; then the preceding axis, and so on.
    Positions outside x count as the identity.
  }];
  let arguments = Kiln_Window<(ins Kiln_ReduceEnum:$kind, Kiln_Tensor:$x, DenseI64ArrayAttr:$kernel)>.arguments;
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def LoopOp : Kiln_Op<"loop", "G...", [AttrSizedOperandSegments, SingleBlock]> {
  let summary = "a loop with loop-carried values, scanned inputs and stacked outputs";
  let description = [{
    `carries` are the initial loop-carried values, `rows` the scanned inputs, `condition` that of the first step. The arguments of
    the body are the loop-carried values, then slice i along the first axis of each scanned input, for step i of 0 .. `steps` - 1. The
    body yields the loop-carried values of the next step, its outputs and, in a loop with a condition, whether there is a next step.
    It may use values from outside.

    Results: the final loop-carried values, then each output stacked along a new first axis, with zeros for steps that did not run.

    The counter offset of a draw in step i is its `draw` + i * `draws`. If `draws` is negative, the loop goes backwards through the
    steps of another one with -`draws`: the offset is `draw` + (`steps` - 1 - i) * -`draws`.
  }];
  let arguments = (ins I64Attr:$steps, DefaultValuedAttr<I64Attr, "0">:$draws, Variadic<Kiln_Tensor>:$carries,
                       Variadic<Kiln_Tensor>:$rows, Optional<Kiln_Tensor>:$condition);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $steps (`carries` $carries^ `:` type($carries))? (`rows` $rows^ `:` type($rows))? (`while` $condition^ `:` type($condition))?
    attr-dict-with-keyword `->` type($results) $body
  }];
  let hasVerifier = 1;
}

def IfOp : Kiln_Op<"if", "G...", [SingleBlock]> {
  let summary = "the values of the then body or the else body, by a bool; only one runs";
  let description = [{ The bodies have no arguments and may use values from outside. }];
  let arguments = (ins Kiln_Tensor:$condition);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let assemblyFormat = [{
    $condition `:` type($condition) attr-dict-with-keyword `->` type($results) $then `else` $otherwise
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Operations made by passes
//===----------------------------------------------------------------------===//

def RunLoopOp : Kiln_Op<"run_loop", ".LK.", [AttrSizedOperandSegments]> {
  let summary = "a loop whose body is a function of loop-carried values, scanned inputs and loop invariants";
  let arguments = (ins FlatSymbolRefAttr:$body, I64Attr:$steps, DefaultValuedAttr<I64Attr, "0">:$draws,
                       Variadic<Kiln_Tensor>:$carries, Variadic<Kiln_Tensor>:$rows, Variadic<Kiln_Tensor>:$invariants,
                       Optional<Kiln_Tensor>:$condition);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let assemblyFormat = [{
    $body $steps (`carries` $carries^ `:` type($carries))? (`rows` $rows^ `:` type($rows))?
    (`invariants` $invariants^ `:` type($invariants))? (`while` $condition^ `:` type($condition))? attr-dict `->` type($results)
  }];
}

def RunIfOp : Kiln_Op<"run_if", ".LK."> {
  let summary = "an if whose bodies are functions with the same arguments";
  let arguments = (ins FlatSymbolRefAttr:$then, FlatSymbolRefAttr:$otherwise, Kiln_Tensor:$condition,
                       Variadic<Kiln_Tensor>:$arguments);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let assemblyFormat = [{
    $then `else` $otherwise `,` $condition `:` type($condition) (`of` $arguments^ `:` type($arguments))? attr-dict `->`
    type($results)
  }];
}

def PackOp : Kiln_Op<"pack", ".LKF"> {
  let summary = "packed B: panels of `panel` columns, the last one padded with zeros";
  let description = [{
    A `matrix` (batch..., k, n), or (batch..., n, k) if `transposed`, becomes (batch..., panels, k, panel). Weights (o, c, kernel...)
    of a `convolution` become (groups, panels, k, panel) with k in the order of the contraction, and for `winograd` the transformed
    kernels (panels, 16, c, panel). Bytes (batch..., n, k), i8 with k a multiple of four, packed as `words`, become (batch..., panels,
    k / 4, panel) of i32: a word has four consecutive values of k, the first in its lowest byte. Rows of bf16 whose k is a multiple of 32,
    packed as `pairs`, become words of two values. Packed parameters are prepacked constants.
  }];
  let arguments = (ins Kiln_PackEnum:$kind, Kiln_Tensor:$x, I64Attr:$panel, I64Attr:$groups);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def PackedDotOp : Kiln_Op<"packed_dot", ".L.F"> {
  let summary = "dot of A and packed B";
  let description = [{
    B may be in half precision or of bytes where A is f32: the product widens its elements. B may be packed `words` of i8 where A is u8 and not
    transposed, and the result i32: the product widens its elements to i32. B may be packed `pairs` of bf16 where A is bf16 and not transposed,
    and the result f32: the product is by paired32.
  }];
  let arguments = (ins Kiln_Tensor:$lhs, Kiln_Tensor:$rhs, UnitAttr:$transpose_lhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def PackedConvolutionOp : Kiln_Op<"packed_convolution", ".L.F"> {
  let summary = "convolution of an input that includes its padding with packed weights";
  let description = [{
    x (n, spatial..., c), result (n, spatial..., o), or (n, c, spatial...) and (n, o, spatial...) if `channels_first`: a group then has one
    panel, and a stride s of the last axis takes that of x apart, (s, points / s), so that results of a line read neighbours. Depthwise
    weights (as many groups as channels) are packed as one group. Weights may be packed `words` of i8 where x is u8, or `pairs` of bf16 where x is
    bf16, as in packed_dot; the channels of a group are then whole words, or a multiple of 32, and k is taps, then channels.
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$w, I64Attr:$groups, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$dilate, UnitAttr:$channels_first);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($result)";
}

def DepthwiseOp : Kiln_Op<"depthwise", ".L.F"> {
  let summary = "depthwise convolution, channels first";
  let description = [{
    x (n, c, spatial...), without its padding, w (c, 1, kernel...), result (n, c, spatial'...), with one or two spatial axes. The high
    padding follows from the shapes.
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$w, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilate, DenseI64ArrayAttr:$pad_low);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($result)";
}

def WeightsProductOp : Kiln_Op<"weights_product", ".L.F"> {
  let summary = "convolution_weights of an input that includes its padding, channels last";
  let description = [{
    x (n, spatial..., c), g (n, spatial'..., o), result (c, kernel..., o), or (kernel..., c, o) if `taps_first`, or (1, kernel..., c) if
    `depthwise`. The kernel packs g in panels of `panel` columns; a depthwise one reads it as it is.
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$g, UnitAttr:$depthwise, UnitAttr:$taps_first, I64Attr:$panel,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilate);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $g attr-dict `:` type($x) `,` type($g) `->` type($result)";
}

def WinogradOp : Kiln_Op<"winograd", ".L.F"> {
  let summary = "convolution by F(2x2, 3x3) with transformed and packed weights, channels last";
  let description = [{
    x (n, h, w, c), without its padding, result (n, h', w', o). The high padding follows from the shapes.
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$w, DenseI64ArrayAttr:$pad_low);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($result)";
}

def FusionOp : Kiln_Op<"fusion", "..K.", [IsolatedFromAbove, SingleBlock]> {
  let summary = "one kernel";
  let description = [{
    The body holds at most one packed contraction, or any number of `reduce` over the same axes of values of one type (the roots); the
    `pack` of B of a `packed_dot`; pointwise producers of a `reduce`, which do not read each other's results; a pointwise epilogue of
    any root; and view operations (chains of broadcast, transpose, slice, reverse, reshape that strides can express) of arguments. All
    yielded values have the shape of a root's result, or of the pointwise operations if there is no root. A yielded value may pass
    through a `pad`: the kernel writes the interior of the padded array. Or it may pass through an `insert` into an argument: the result
    aliases that argument, and the kernel overwrites elements of it.
  }];
  let arguments = (ins Variadic<Kiln_Tensor>:$operands);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def YieldOp : Kiln_Base<"yield", "G..F", [Pure, Terminator, ReturnLike, ParentOneOf<["FusionOp", "LoopOp", "IfOp"]>]> {
  let summary = "the results of a body";
  let arguments = (ins Variadic<Kiln_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif  // KILN_OPS
