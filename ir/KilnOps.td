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
// * Operations have no side effects. A call's writes (in-place operators, auxiliary states) are further results of the
//   function, listed in its attribute `kiln.writes`.
// * Locations are NameLoc(node name, FileLineColLoc(the user's line)).
//
// A change of a rule here that changes bits raises numerics_version (ir/numerics.h), which tells code of two versions apart.
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

class Kiln_Op<string mnemonic, list<Trait> traits = []> : Op<Kiln_Dialect, mnemonic, !listconcat([Pure], traits)>;

def Kiln_Tensor : ConfinedType<StaticShapeTensorOf<[AnyType]>, [CPred<"::kiln::ir::is_countable($_self)">],
                               "tensor that a process can address">;

//===----------------------------------------------------------------------===//
// Places in memory
//===----------------------------------------------------------------------===//

class Kiln_Enum<string name, list<string> words>
    : I32EnumAttr<name, "", !foreach(i, !range(!size(words)), I32EnumAttrCase<words[i], i>)> {
  let cppNamespace = "::kiln::ir";
}

def Kiln_Space : Kiln_Enum<"Space", ["arena", "output", "alias", "constant", "prepacked"]> { let genSpecializedAttr = 0; }

// Where a value lives during a call, decided by buffer assignment (passes/plan_buffers.h).
def Kiln_Place : AttrDef<Kiln_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "where a value lives during a call";
  let description = [{
    * `arena N`: N bytes from the beginning of the call's arena
    * `output N`: result N of the call, which is written there directly
    * `alias N`: the memory of operand N
    * `constant N`: constant N of the function, in order of appearance
    * `prepacked N + B`: byte B of what prepacked operation N makes, in order of appearance
  }];
  let parameters = (ins EnumParameter<Kiln_Space>:$space, "std::int64_t":$number, DefaultValuedParameter<"std::int64_t", "0">:$offset);
  let assemblyFormat = "`<` $space $number (`+` $offset^)? `>`";
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

// The order is that of the C++ enums in ir/primitives.h, which dialect.cpp checks.
def Kiln_UnaryEnum : Kiln_Enum<"UnaryKind", [
  "neg", "abs", "sign", "ceil", "floor", "round", "rint", "trunc", "sqrt", "rsqrt", "cbrt", "exp", "exp_nonpositive",
  "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
  "acosh", "atanh", "erf", "logical_not"]>;
def Kiln_BinaryEnum : Kiln_Enum<"BinaryKind", [
  "add", "sub", "mul", "div", "mod", "pow", "max", "max_nnan", "min", "hypot", "logical_and", "logical_or", "logical_xor"]>;
def Kiln_CompareEnum : Kiln_Enum<"CompareKind", ["eq", "ne", "lt", "le", "gt", "ge"]>;
def Kiln_ReduceEnum : Kiln_Enum<"ReduceKind", ["sum", "sum_squares", "prod", "max", "max_nnan", "min"]>;
def Kiln_ScatterEnum : Kiln_Enum<"ScatterKind", ["replace", "add"]>;
def Kiln_PackEnum : Kiln_Enum<"PackKind", ["matrix", "transposed", "convolution", "winograd"]>;

// How a contraction is computed, which fixes its bits. Chosen once, from logical shapes, where a graph becomes the dialect
// (ir/algorithm.h); no pass chooses again. Defined at `dot` and `convolution`.
def Kiln_AlgorithmEnum : Kiln_Enum<"Algorithm", ["chained512", "interleaved64", "winograd"]>;
def Kiln_Algorithm : DefaultValuedAttr<Kiln_AlgorithmEnum, "::kiln::ir::Algorithm::chained512">;

def UnaryOp : Kiln_Op<"unary", [SameOperandsAndResultType]> {
  let summary = "a function of each element";
  let description = [{
    `round` rounds halves away from zero, `rint` to even, `trunc` towards zero. `sign` of NaN is NaN, of a zero that zero.
    `sqrt` is rounded correctly; `rsqrt` is 1 / sqrt(x), two roundings. `logical_not` is 1 where x is zero, else 0.
    `exp_nonpositive` is exp for x <= 0 alone (beyond, what it gives is not specified), as softmax needs it: shorter, since
    of float32 it gives 0 instead of results below 2^-126.5.
    The transcendental functions are Kiln's own (codegen/math), each with its bound in ULP.
  }];
  let arguments = (ins Kiln_UnaryEnum:$kind, Kiln_Tensor:$x);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
  let hasFolder = 1;
}

def BinaryOp : Kiln_Op<"binary", [SameOperandsAndResultType]> {
  let summary = "a function of two elements";
  let description = [{
    `div` of integers truncates. `mod` has the sign of the divisor. `max` and `min`: NaN wins; of zeros of both signs, the right
    operand. `max_nnan` is the left operand where that is greater, else the right one: `max` of what is no NaN, in one instruction.
    `logical_*`: 1 or 0 by whether the operands are nonzero.
  }];
  let arguments = (ins Kiln_BinaryEnum:$kind, Kiln_Tensor:$lhs, Kiln_Tensor:$rhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs)";
  let hasFolder = 1;
}

def FmaOp : Kiln_Op<"fma", [SameOperandsAndResultType]> {
  let summary = "a * b + c of three elements";
  let description = [{ Floats are rounded once, of f16 and bf16 the f32 result again; integers wrap. }];
  let arguments = (ins Kiln_Tensor:$a, Kiln_Tensor:$b, Kiln_Tensor:$c);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a)";
}

def CompareOp : Kiln_Op<"compare", [SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "an ordered comparison of two elements; `ne` alone holds for NaN";
  let arguments = (ins Kiln_CompareEnum:$kind, Kiln_Tensor:$lhs, Kiln_Tensor:$rhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def SelectOp : Kiln_Op<"select", [AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "one of two elements, by a bool";
  let arguments = (ins Kiln_Tensor:$condition, Kiln_Tensor:$on_true, Kiln_Tensor:$on_false);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def CastOp : Kiln_Op<"cast", [SameOperandsAndResultShape]> {
  let summary = "each element in another type";
  let description = [{
    A float becomes an integer by truncation through i64 (NaN and what i64 cannot hold become its least value) and then wraps; to bool by
    x != 0. Integers wrap. Between floats the nearest value is taken, ties to even.
  }];
  let arguments = (ins Kiln_Tensor:$x);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Made from nothing
//===----------------------------------------------------------------------===//

def ConstantOp : Kiln_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "known elements; arrays of one value stay splats";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def IotaOp : Kiln_Op<"iota"> {
  let summary = "the index along an axis, in the element type";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def RandomUniformOp : Kiln_Op<"random_uniform"> {
  let summary = "uniform in [0, 1)";
  let description = [{
    Element i (in C order) comes from Philox 4x32-10 with the counter (i, c + draw) and the seed as key; c is the random counter that the
    call starts from. f32: the upper 24 bits of the word times 2^-24. f64 (word 0 only): the upper 27 bits of word 0, then the upper 26 of
    word 1, as one number of 53 bits, times 2^-53. i64 (word 0 only): word 0 in the lower half, word 1 in the upper; all values.
  }];
  let arguments = (ins I64Attr:$draw, DefaultValuedAttr<I64Attr, "0">:$word);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$draw (`word` $word^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def BroadcastOp : Kiln_Op<"broadcast"> {
  let summary = "axis i of x becomes axis dims[i]; other axes, and those where x has extent 1, repeat";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $dims attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ReshapeOp : Kiln_Op<"reshape"> {
  let summary = "the same elements in C order under another shape";
  let arguments = (ins Kiln_Tensor:$x);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TransposeOp : Kiln_Op<"transpose"> {
  let summary = "axis i of the result is axis permutation[i] of x";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $permutation attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def SliceOp : Kiln_Op<"slice"> {
  let summary = "elements start, start + step, ... below limit on each axis";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$limit, DenseI64ArrayAttr:$step);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $start `to` $limit `by` $step attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ReverseOp : Kiln_Op<"reverse", [SameOperandsAndResultType]> {
  let summary = "the elements in opposite order along the axes";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $axes attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def PadOp : Kiln_Op<"pad"> {
  let summary = "x with `low` and `high` more elements of one value around it on each axis";
  let arguments = (ins Kiln_Tensor:$x, TypedAttrInterface:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $value $low $high attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def ConcatenateOp : Kiln_Op<"concatenate"> {
  let summary = "the parts one after the other along an axis";
  let arguments = (ins Variadic<Kiln_Tensor>:$parts, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$parts `axis` $axis attr-dict `:` functional-type($parts, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def EmptyOp : Kiln_Op<"empty"> {
  let summary = "an array whose elements nobody reads before they are replaced";
  let arguments = (ins);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def InsertOp : Kiln_Op<"insert", [AllTypesMatch<["x", "result"]>]> {
  let summary = "x with the slice start, start + step, ... replaced by `update`";
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$update, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$step);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$update `into` $x $start `by` $step attr-dict `:` type($update) `into` type($x)";
  let hasVerifier = 1;
}

def GatherOp : Kiln_Op<"gather"> {
  let summary = "slices of x along an axis, chosen by integer indices that are clamped to the axis";
  let description = [{ The result has the indices' axes in the place of `axis`. }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$indices, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x $indices `axis` $axis attr-dict `:` type($x) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def CheckBoundsOp : Op<Kiln_Dialect, "check_bounds", [NoMemoryEffect, AllTypesMatch<["indices", "result"]>]> {
  let summary = "the indices; a call in which one is not in 0 .. `extent` - 1 throws";
  let description = [{
    The error is a kiln::Error that names the first such index in C order, its place, `node` and the node's line. The call then writes no input and
    gives no result. It is no constant and does not leave the body of a loop or branch, which may not run. Where nothing needs its result it is
    dead, as any operation.
  }];
  let arguments = (ins Kiln_Tensor:$indices, I64Attr:$extent, StrAttr:$node);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$indices `below` $extent `for` $node attr-dict `:` type($indices)";
  let hasVerifier = 1;
}

def ScatterOp : Kiln_Op<"scatter", [AllTypesMatch<["x", "result"]>]> {
  let summary = "x with slices along an axis replaced by, or added to, slices of `updates`";
  let description = [{
    `updates` has the shape of `gather x indices axis`. The indices are taken one after the other in C order, so that of several slices
    that go to one place the last one stays, or they are added in that order, each sum rounded. An index outside of the axis is dropped.
  }];
  let arguments = (ins Kiln_ScatterEnum:$kind, Kiln_Tensor:$x, Kiln_Tensor:$indices, Kiln_Tensor:$updates, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = [{
    $kind $updates `into` $x $indices `axis` $axis attr-dict `:` type($updates) `into` type($x) `,` type($indices)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

def SortOp : Kiln_Op<"sort"> {
  let summary = "the stable order of the elements along the last axis, as i64 indices into it";
  let description = [{
    Ascending, or with `descending` the greatest first; in both directions NaNs (of either sign) are last, -0 and +0 are equal, and equal
    elements stand in the order of their indices. So the result is one permutation, whatever computes it.

    `scratch` is memory for the kernel and holds nothing that may be used: (rows, extent) of i64, or (rows, 3 * extent) where elements
    have more than 32 bits or a row has 2^31 of them.
  }];
  let arguments = (ins Kiln_Tensor:$x, UnitAttr:$descending);
  let results = (outs Kiln_Tensor:$order, Kiln_Tensor:$scratch);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($order) `,` type($scratch)";
  let hasVerifier = 1;
}

def CumulativeOp : Kiln_Op<"cumulative", [SameOperandsAndResultType]> {
  let summary = "the sum, product, maximum or minimum of the elements up to each, along an axis";
  let description = [{ result[0] = x[0]; result[r] = result[r - 1] op x[r], rounded each time. For max and min NaN wins. }];
  let arguments = (ins Kiln_ReduceEnum:$kind, Kiln_Tensor:$x, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x `axis` $axis attr-dict `:` type($x)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sums of many
//===----------------------------------------------------------------------===//

def ReduceOp : Kiln_Op<"reduce"> {
  let summary = "sum, product, maximum or minimum over axes";
  let description = [{
    The reduced elements are numbered r = 0, 1, ... in C order over the reduced axes. The order of operations depends on the
    logical shape alone:

    * nothing kept (of extent above 1) after the last reduced axis: blocks of 1024 consecutive r; in each, partial p[j] for j in 0..63 starts from
      the identity and takes r = j, j + 64, ... in order; then p[j] = p[j] op p[j+32] for j < 32, and so on down to p[0]. Where
      there are several blocks, their results are in turn elements r = 0, 1, ... of the same, until one is left.
    * else: blocks of 512 consecutive r; each block is one chain from the identity in order; block results are
      combined in order: the first block's result as it is, then the others.

    The identity, also the result of no elements, is +0, 1, -inf (least integer) or +inf (greatest). For `max` and `min` NaN wins;
    `max_nnan` is for those who need no maximum where there is a NaN, as softmax, whose sum is NaN then. `sum_squares` adds x * x to
    p[j] or to the chain in one rounding (kiln.fma), and those to each other, as blocks' results, as `sum` does.
  }];
  let arguments = (ins Kiln_ReduceEnum:$kind, Kiln_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x $axes attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def DotOp : Kiln_Op<"dot"> {
  let summary = "matrix products: (batch..., m, k) times (batch..., k, n)";
  let description = [{
    With `transpose_lhs` lhs is stored (batch..., k, m), with `transpose_rhs` rhs is stored (batch..., n, k).
    * `chained512`: k is cut into chunks of 512 (the last is shorter); each chunk is one chain of fused multiply-adds from +0 in ascending
      order, and the chunk sums are added in order, the first as it is.
    * `interleaved64`, chosen where m * n < 16 (of one matrix, however many there are): each product, rounded, and then `reduce`
      of those over k, by its tree.
    Integers multiply and add with wrapping.
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

def ConvolutionOp : Kiln_Op<"convolution"> {
  let summary = "cross-correlation: x (n, c, spatial...), w (o, c / groups, kernel...)";
  let description = [{
    * `chained512`: the contracted index runs over blocks of 16 input channels of the group, then the kernel's axes, then the channel
      within the block, and is summed in chunks as `dot` sums, however few results there are. A tap in the padding multiplies +0.
    * `winograd`, chosen for kernels of 3x3 at stride 1 in f32 with at least 16 channels on both sides and 7x7 results, whatever the batch:
      F(2x2, 3x3) (A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015).

    For F(2x2, 3x3) a tile of 2x2 results comes from 4x4 inputs d and the kernels g: with U = G g G', in f64 and rounded
    once, V = B' d B and M[p] the sum over c of V[p, c] * U[p, c] in chunks, it is A' M A. Each row, then each column is transformed:
      B': d0 - d2, d1 + d2, d2 - d1, d1 - d3    A': (m0 + m1) + m2, (m1 - m2) - m3    G: g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2
  }];
  let arguments = Kiln_Window<(ins Kiln_Tensor:$x, Kiln_Tensor:$w, I64Attr:$groups, Kiln_Algorithm:$algorithm)>.arguments;
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $w (`by` $algorithm^)? attr-dict `:` type($x) `,` type($w) `->` type($result)";
  let hasVerifier = 1;
}

def ReduceWindowOp : Kiln_Op<"reduce_window"> {
  let summary = "sum or maximum over a window that slides over the spatial axes of (n, c, spatial...)";
  let description = [{
    Along the last axis first: a chain over the taps in order, the first as it is; then the axis before it, and so on. Positions
    outside x count as the identity.
  }];
  let arguments = Kiln_Window<(ins Kiln_ReduceEnum:$kind, Kiln_Tensor:$x, DenseI64ArrayAttr:$kernel)>.arguments;
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def LoopOp : Kiln_Op<"loop", [AttrSizedOperandSegments, SingleBlock]> {
  let summary = "the body again and again, each time with the values that the last one carried on";
  let description = [{
    The body's arguments are the carried values, then row i of each of `rows` (step i of 0 .. `steps` - 1, along the first
    axis). It yields the carried values of the next step, then its outputs, then, where `go_on` is given, whether there is a next
    step; `go_on` says whether there is a first one. It may use values from outside.

    Results: the carried values after the last step, then each output of all steps one above the other, with zeros in the rows of
    steps that were not taken.

    Random numbers in the body count from their `draw`; a step's counter is `draws` further on than that of the step before.
  }];
  let arguments = (ins I64Attr:$steps, DefaultValuedAttr<I64Attr, "0">:$draws, Variadic<Kiln_Tensor>:$carries,
                       Variadic<Kiln_Tensor>:$rows, Optional<Kiln_Tensor>:$go_on);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $steps (`carries` $carries^ `:` type($carries))? (`rows` $rows^ `:` type($rows))? (`while` $go_on^ `:` type($go_on))?
    attr-dict-with-keyword `->` type($results) $body
  }];
  let hasVerifier = 1;
}

def IfOp : Kiln_Op<"if", [SingleBlock]> {
  let summary = "what one of two bodies yields, by a bool; the other is not run";
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
// What passes make
//===----------------------------------------------------------------------===//

def RunLoopOp : Kiln_Op<"run_loop", [AttrSizedOperandSegments]> {
  let summary = "a loop whose body is a function: its arguments are the carried values, the rows and the invariants";
  let arguments = (ins FlatSymbolRefAttr:$body, I64Attr:$steps, DefaultValuedAttr<I64Attr, "0">:$draws,
                       Variadic<Kiln_Tensor>:$carries, Variadic<Kiln_Tensor>:$rows, Variadic<Kiln_Tensor>:$invariants,
                       Optional<Kiln_Tensor>:$go_on);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let assemblyFormat = [{
    $body $steps (`carries` $carries^ `:` type($carries))? (`rows` $rows^ `:` type($rows))?
    (`invariants` $invariants^ `:` type($invariants))? (`while` $go_on^ `:` type($go_on))? attr-dict `->` type($results)
  }];
}

def RunIfOp : Kiln_Op<"run_if"> {
  let summary = "an if whose bodies are functions of the same arguments";
  let arguments = (ins FlatSymbolRefAttr:$then, FlatSymbolRefAttr:$otherwise, Kiln_Tensor:$condition,
                       Variadic<Kiln_Tensor>:$arguments);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let assemblyFormat = [{
    $then `else` $otherwise `,` $condition `:` type($condition) (`of` $arguments^ `:` type($arguments))? attr-dict `->`
    type($results)
  }];
}

def PackOp : Kiln_Op<"pack"> {
  let summary = "the right operand of a product in panels of `panel` columns, zeros behind the last column";
  let description = [{
    A `matrix` (batch..., k, n), or (batch..., n, k) if `transposed`, becomes (batch..., panels, k, panel). Weights (o, c, kernel...)
    of a `convolution` become (groups, panels, k, panel) with k in the order of the contraction, and for `winograd` the transformed
    kernels (panels, 16, c, panel). A pack of a parameter is made once per version of it.
  }];
  let arguments = (ins Kiln_PackEnum:$kind, Kiln_Tensor:$x, I64Attr:$panel, I64Attr:$groups);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def PackedDotOp : Kiln_Op<"packed_dot"> {
  let summary = "dot with a packed right operand";
  let arguments = (ins Kiln_Tensor:$lhs, Kiln_Tensor:$rhs, UnitAttr:$transpose_lhs);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def PackedConvolutionOp : Kiln_Op<"packed_convolution"> {
  let summary = "convolution of a padded input (nothing is added at its border) with packed weights";
  let description = [{
    x (n, spatial..., c), result (n, spatial..., o), or (n, c, spatial...) and (n, o, spatial...) if `channels_first`: there is then one
    group, and one panel. Where each channel has one kernel of its own (as many groups as channels), the weights are packed as one group.
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$w, I64Attr:$groups, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$dilate, UnitAttr:$channels_first);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($result)";
}

def WinogradOp : Kiln_Op<"winograd"> {
  let summary = "convolution by F(2x2, 3x3) with transformed and packed weights, channels last";
  let description = [{
    x (n, h, w, c), without its padding, result (n, h', w', o). What lies behind the far padding is not needed for any result.
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_Tensor:$w, DenseI64ArrayAttr:$pad_low);
  let results = (outs Kiln_Tensor:$result);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($result)";
}

def FusionOp : Kiln_Op<"fusion", [IsolatedFromAbove, SingleBlock]> {
  let summary = "one kernel";
  let description = [{
    The body holds at most one `reduce` or packed product (the root), the `pack` of the right operand of a `packed_dot`, pointwise operations
    before a `reduce` and after any root, and data movement (a chain of broadcast, transpose, slice, reverse, reshape that amounts to strides) straight from
    arguments. All results of the body's `yield` have the shape of the root's result, or of the pointwise operations when there is no root;
    a `pad` may stand between one and the `yield`: it is written into the middle of its padding. Or an `insert` into an argument: the result
    is that argument's memory, where the kernel replaces elements.
  }];
  let arguments = (ins Variadic<Kiln_Tensor>:$operands);
  let results = (outs Variadic<Kiln_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def YieldOp : Op<Kiln_Dialect, "yield", [Pure, Terminator, ReturnLike, ParentOneOf<["FusionOp", "LoopOp", "IfOp"]>]> {
  let summary = "the results of a body";
  let arguments = (ins Variadic<Kiln_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif  // KILN_OPS
