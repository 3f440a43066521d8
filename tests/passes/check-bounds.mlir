// Checks of indices through the passes: no constant, not moved out of a loop, and their result is the memory of the indices.
// RUN: kiln opt %s --kiln-fold --kiln-hoist | FileCheck %s
// RUN: kiln opt %s --kiln-outline --kiln-fuse --kiln-plan-buffers | FileCheck %s --check-prefix=PLAN

// CHECK-LABEL: func.func @known
// CHECK: %[[I:.*]] = kiln.constant dense<[0, 7]>
// CHECK: kiln.check_bounds %[[I]] below 3 for "take0" : tensor<2xi64>
// PLAN-LABEL: func.func @known
// PLAN: kiln.check_bounds %{{.*}} below 3 for "take0" {kiln.buffers = [#kiln.place<alias 0>]}
func.func @known(%x: tensor<3xf32>) -> tensor<2xf32> {
  %0 = kiln.constant dense<[0, 7]> : tensor<2xi64>
  %1 = kiln.check_bounds %0 below 3 for "take0" : tensor<2xi64>
  %2 = kiln.gather %x %1 axis 0 : tensor<3xf32>, tensor<2xi64> -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// A loop of no steps checks nothing.
// CHECK-LABEL: func.func @in_loop
// CHECK: kiln.loop
// CHECK: kiln.check_bounds
// CHECK: kiln.yield
func.func @in_loop(%x: tensor<3xf32>, %i: tensor<2xi64>, %go: tensor<1xi1>, %c: tensor<2xf32>) -> tensor<2xf32> {
  %0 = kiln.loop 4 carries %c : tensor<2xf32> while %go : tensor<1xi1> -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %1 = kiln.check_bounds %i below 3 for "take0" : tensor<2xi64>
    %2 = kiln.gather %x %1 axis 0 : tensor<3xf32>, tensor<2xi64> -> tensor<2xf32>
    %3 = kiln.binary add %a, %2 : tensor<2xf32>
    kiln.yield %3, %go : tensor<2xf32>, tensor<1xi1>
  }
  return %0 : tensor<2xf32>
}
