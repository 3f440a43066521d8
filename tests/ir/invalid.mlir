// What the verifiers refuse, and in which words.
// RUN: kiln opt %s -split-input-file -verify-diagnostics

func.func @compare(%x: tensor<2xf32>) {
  // expected-error @+1 {{must give 'tensor<2xi1>', not 'tensor<2xf32>'}}
  %0 = kiln.compare lt %x, %x : tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @binary_shapes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  "kiln.binary"(%x, %y) <{kind = 0 : i32}> : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @select(%c: tensor<2xf32>, %x: tensor<2xf32>) {
  // expected-error @+1 {{needs a condition of i1}}
  %0 = kiln.select %c, %x, %x : tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be tensor that a process can address}}
  %0 = kiln.unary neg %x : tensor<?xf32>
  return
}

// -----

func.func @iota() {
  // expected-error @+1 {{axis 2 does not exist in rank 2}}
  %0 = kiln.iota 2 : tensor<2x3xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error @+1 {{cannot repeat extent 3 to 4}}
  %0 = kiln.broadcast %x [1] : tensor<3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @broadcast_dims(%x: tensor<3x3xf32>) {
  // expected-error @+1 {{dims must ascend}}
  %0 = kiln.broadcast %x [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @reshape(%x: tensor<6xf32>) {
  // expected-error @+1 {{must keep the number of elements}}
  %0 = kiln.reshape %x : tensor<6xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{names axis 0 twice}}
  %0 = kiln.transpose %x [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @slice(%x: tensor<6xf32>) {
  // expected-error @+1 {{leaves axis 0 of extent 6}}
  %0 = kiln.slice %x [2] to [7] by [1] : tensor<6xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<6xf32>) {
  // expected-error @+1 {{needs steps above 0}}
  %0 = kiln.slice %x [2] to [6] by [0] : tensor<6xf32> -> tensor<5xf32>
  return
}

// -----

func.func @pad(%x: tensor<6xf32>) {
  // expected-error @+1 {{needs a value of its element type}}
  %0 = kiln.pad %x 0 : i32 [1] [1] : tensor<6xf32> -> tensor<8xf32>
  return
}

// -----

func.func @extend_too_far(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 1 of (2, 3) is too short to be extended by 3 elements}}
  %0 = kiln.extend reflect %x [1, 0] [0, 3] : tensor<2x3xf32> -> tensor<3x6xf32>
  return
}

// -----

func.func @extend_nothing(%x: tensor<0xf32>) {
  // expected-error @+1 {{axis 0 of (0,) is too short to be extended by 1 elements}}
  %0 = kiln.extend edge %x [0] [1] : tensor<0xf32> -> tensor<1xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<6xf32>) {
  // expected-error @+1 {{cannot cut: pads are not negative}}
  %0 = kiln.pad %x 0.0 : f32 [-1] [1] : tensor<6xf32> -> tensor<6xf32>
  return
}

// -----

func.func @concatenate(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) {
  // expected-error @+1 {{mixes extents 2 and 3 on axis 0}}
  %0 = kiln.concatenate %x, %y axis 1 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @insert(%x: tensor<4xf32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{leaves axis 0 of extent 4}}
  %0 = kiln.insert %u into %x [1] by [3] : tensor<2xf32> into tensor<4xf32>
  return
}

// -----

func.func @gather(%x: tensor<4xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{needs indices of i32 or i64}}
  %0 = kiln.gather %x %i axis 0 : tensor<4xf32>, tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{must give 'tensor<4xf32>', not 'tensor<5xf32>'}}
  %0 = kiln.reduce sum %x [1] : tensor<4x5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @dot_by_tensor_cores(%x: tensor<4x4xf64>) {
  // expected-error @+1 {{by tensor_cores needs operands of f16, bf16 or f32}}
  %0 = kiln.dot %x, %x by tensor_cores : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf32>
  return
}

// -----

func.func @sums_of_tensor_cores(%x: tensor<4x4xf16>) {
  // expected-error @+1 {{must give 'tensor<4x4xf32>', not 'tensor<4x4xf16>'}}
  %0 = kiln.dot %x, %x by tensor_cores : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @dot(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{contracts extents 5 and 4}}
  %0 = kiln.dot %x, %y : tensor<4x5xf32>, tensor<4x5xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @convolution(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x5x5xf32>) {
  // expected-error @+1 {{has a window larger than its input}}
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x3x4x4xf32>, tensor<2x3x5x5xf32> -> tensor<1x2x1x1xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>) {
  // expected-error @+1 {{has groups that do not divide its channels}}
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32> -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @weights_of_other_places(%x: tensor<1x3x4x4xf32>, %g: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{has a gradient of another shape}}
  %0 = kiln.convolution_weights %x, %g {dilate = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x3x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<2x3x3x3xf32>
  return
}

// -----

func.func @weights_of_other_channels(%x: tensor<1x3x4x4xf32>, %g: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{has groups that are neither one nor its channels}}
  %0 = kiln.convolution_weights %x, %g {depthwise, dilate = array<i64: 1, 1>, kernel = array<i64: 1, 1>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, stride = array<i64: 1, 1>} : tensor<1x3x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<2x1x1x1xf32>
  return
}

// -----

func.func @reduce_window(%x: tensor<1x3x4xf32>) {
  // expected-error @+1 {{needs 1 values for each part of its window}}
  %0 = kiln.reduce_window max %x {dilate = array<i64: 1, 1>, kernel = array<i64: 2>, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 1>} : tensor<1x3x4xf32> -> tensor<1x3x3xf32>
  return
}

// -----

func.func @pack(%w: tensor<20x10xf32>) {
  // expected-error @+1 {{must give 'tensor<1x20x16xf32>', not 'tensor<2x10x16xf32>'}}
  %p = kiln.pack matrix %w {groups = 1 : i64, panel = 16 : i64} : tensor<20x10xf32> -> tensor<2x10x16xf32>
  return
}

// -----

func.func @fusion_yield(%x: tensor<4xf32>) {
  // expected-error @+1 {{must yield its results}}
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<5xf32> {
    kiln.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_content(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot hold kiln.cumulative}}
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = kiln.cumulative sum %a axis 0 : tensor<4xf32>
    kiln.yield %1 : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_pack(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{may pack weights of one operand and do nothing else, or an operand for its own packed_dot}}
  %0 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<1x4x16xf32> {
    %1 = kiln.pack matrix %a {groups = 1, panel = 16} : tensor<4x4xf32> -> tensor<1x4x16xf32>
    kiln.yield %1 : tensor<1x4x16xf32>
  }
  return
}

// -----

func.func @fusion_pack_weights(%w: tensor<8x2x1x1xf32>) {
  // expected-error@+1 {{may pack weights of one operand and do nothing else, or an operand for its own packed_dot}}
  %0 = kiln.fusion (%a = %w) : (tensor<8x2x1x1xf32>) -> tensor<1x1x2x8xf32> {
    %1 = kiln.unary neg %a : tensor<8x2x1x1xf32>
    %2 = kiln.pack convolution %1 {groups = 1 : i64, panel = 8 : i64} : tensor<8x2x1x1xf32> -> tensor<1x1x2x8xf32>
    kiln.yield %2 : tensor<1x1x2x8xf32>
  }
  return
}

// -----

func.func @fusion_roots(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{reduces what it computes from the result of another reduction}}
  %0 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> tensor<f32> {
    %1 = kiln.reduce sum %a [1] : tensor<4x4xf32> -> tensor<4xf32>
    %2 = kiln.reduce sum %1 [0] : tensor<4xf32> -> tensor<f32>
    kiln.yield %2 : tensor<f32>
  }
  return
}

// -----

func.func @fusion_axes(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{reduces values of different types, or different axes}}
  %0:2 = kiln.fusion (%a = %x) : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %1 = kiln.reduce sum %a [1] : tensor<4x4xf32> -> tensor<4xf32>
    %2 = kiln.reduce sum %a [0] : tensor<4x4xf32> -> tensor<4xf32>
    kiln.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_contractions(%x: tensor<2x12xf32>, %w: tensor<1x12x16xf32>) {
  // expected-error @+1 {{contains more than one contraction, or one and a reduction}}
  %0:2 = kiln.fusion (%a = %x, %b = %w) : (tensor<2x12xf32>, tensor<1x12x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
    %1 = kiln.packed_dot %a, %b : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
    %2 = kiln.packed_dot %a, %b : tensor<2x12xf32>, tensor<1x12x16xf32> -> tensor<2x16xf32>
    kiln.yield %1, %2 : tensor<2x16xf32>, tensor<2x16xf32>
  }
  return
}

// -----

func.func @loop_rows(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{needs rows of extent 3, not 'tensor<4x2xf32>'}}
  %0 = kiln.loop 3 rows %x : tensor<4x2xf32> -> tensor<3x2xf32> {
  ^bb0(%row: tensor<2xf32>):
    kiln.yield %row : tensor<2xf32>
  }
  return
}

// -----

func.func @loop_yield(%x: tensor<2xf32>) {
  // expected-error @+1 {{needs a body that yields 'tensor<2xf32>', not 'tensor<2xf32>', 'tensor<2xf32>'}}
  %0 = kiln.loop 3 carries %x : tensor<2xf32> -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    kiln.yield %a, %a : tensor<2xf32>, tensor<2xf32>
  }
  return
}

// -----

func.func @branch(%c: tensor<2xi1>, %x: tensor<2xf32>) {
  // expected-error @+1 {{chooses by one bool}}
  %0 = kiln.if %c : tensor<2xi1> -> tensor<2xf32> {
    kiln.yield %x : tensor<2xf32>
  } else {
    kiln.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @sort_scratch(%x: tensor<2x4xf64>) {
  // expected-error @+1 {{must have the scratch memory 'tensor<2x12xi64>'}}
  %0:2 = kiln.sort %x : tensor<2x4xf64> -> tensor<2x4xi64>, tensor<2x4xi64>
  return
}

// -----

func.func @sort_order(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{must give 'tensor<2x4xi64>', not 'tensor<2x4xi32>'}}
  %0:2 = kiln.sort %x : tensor<2x4xf32> -> tensor<2x4xi32>, tensor<2x4xi64>
  return
}

// -----

func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<2x5xf32>) {
  // expected-error @+1 {{needs updates of the shape of a gather}}
  %0 = kiln.scatter replace %u into %x %i axis 0 : tensor<2x5xf32> into tensor<3x4xf32>, tensor<2xi64>
  return
}

// -----

func.func @check_bounds_type(%i: tensor<3xi32>) {
  // expected-error @+1 {{needs indices of i64}}
  %0 = kiln.check_bounds %i below 3 for "take" : tensor<3xi32>
  return
}

// -----

func.func @check_bounds_extent(%i: tensor<3xi64>) {
  // expected-error @+1 {{needs an extent that is not negative}}
  %0 = kiln.check_bounds %i below -1 for "take" : tensor<3xi64>
  return
}

// -----

func.func @cumulative(%x: tensor<3xf32>) {
  // expected-error @+1 {{axis 1 does not exist in rank 1}}
  %0 = kiln.cumulative sum %x axis 1 : tensor<3xf32>
  return
}

// -----

func.func @cumulative_squares(%x: tensor<3xf32>) {
  // expected-error @+1 {{adds no squares}}
  %0 = kiln.cumulative sum_squares %x axis 0 : tensor<3xf32>
  return
}

// -----

func.func @window_squares(%x: tensor<1x2x4xf32>) {
  // expected-error @+1 {{adds no squares}}
  %0 = kiln.reduce_window sum_squares %x {dilate = array<i64: 1>, kernel = array<i64: 2>, pad_high = array<i64: 0>, pad_low = array<i64: 1>, stride = array<i64: 1>} : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  return
}

// -----

func.func @random_word() {
  // expected-error @+1 {{has no word 1}}
  %0 = kiln.random_uniform 0 word 1 : tensor<3xf64>
  return
}

// -----

func.func @pad_inside(%x: tensor<4xf32>) {
  // expected-error @+1 {{has a kiln.pad that is not yielded}}
  %0 = kiln.fusion (%a = %x) : (tensor<4xf32>) -> tensor<6xf32> {
    %1 = kiln.pad %a 0.0 : f32 [1] [1] : tensor<4xf32> -> tensor<6xf32>
    %2 = kiln.unary neg %1 : tensor<6xf32>
    kiln.yield %2 : tensor<6xf32>
  }
  return
}

// -----

func.func @moved_sum(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{moves the result of its kiln.reduce, and not as the windows of a pooling}}
  %0 = kiln.fusion (%a = %x) : (tensor<4x6xf32>) -> tensor<2xf32> {
    %1 = kiln.reduce sum %a [1] : tensor<4x6xf32> -> tensor<4xf32>
    %2 = kiln.slice %1 [0] to [3] by [2] : tensor<4xf32> -> tensor<2xf32>
    %3 = kiln.slice %1 [1] to [4] by [2] : tensor<4xf32> -> tensor<2xf32>
    %4 = kiln.binary max %2, %3 : tensor<2xf32>
    kiln.yield %4 : tensor<2xf32>
  }
  return
}

// -----

// 2^62 elements of four bytes are 2^64 bytes.
func.func @wraps(%x: tensor<4611686018427387904xf32>) {
  // expected-error @+1 {{must be tensor that a process can address}}
  %0 = kiln.unary neg %x : tensor<4611686018427387904xf32>
  return
}

// -----

func.func @long_list(%x: tensor<6xf32>) {
  // expected-error @+1 {{a shape of 9 dimensions: Kiln's arrays have at most 8}}
  %0 = kiln.slice %x [0, 0, 0, 0, 0, 0, 0, 0, 0] to [6] by [1] : tensor<6xf32> -> tensor<6xf32>
  return
}

// -----

func.func @short_list(%x: tensor<6x2xf32>) {
  // expected-error @+1 {{needs 2 values in `step`, has 1}}
  %0 = kiln.slice %x [0, 0] to [6, 2] by [1] : tensor<6x2xf32> -> tensor<6x2xf32>
  return
}

// -----

func.func @weight_rank(%x: tensor<1x3x4xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{needs 1 values for each part of its window}}
  %0 = kiln.convolution %x, %w {dilate = array<i64: 1>, groups = 1 : i64, pad_high = array<i64: 0>, pad_low = array<i64: 0>, stride = array<i64: 1>} : tensor<1x3x4xf32>, tensor<2xf32> -> tensor<1x2x4xf32>
  return
}

// -----

func.func @gather_from_nothing(%x: tensor<0x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{takes from axis 0, which is empty}}
  %0 = kiln.gather %x %i axis 0 : tensor<0x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}
