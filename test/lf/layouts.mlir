// RUN: lf-opt %s | lf-opt | FileCheck %s

// Layouts and roles print as they parse.
// CHECK-LABEL: @stream
// CHECK-SAME: #lf.layout<[{cp, tp}, {dp}, {}]>
func.func @stream(%x: tensor<8x4x16xf32> {lf.layout = #lf.layout<[{cp, tp}, {dp}, {}]>}) { return }
// CHECK-LABEL: @gradient
// CHECK-SAME: #lf.layout<[{}, {tp}], partial sum {dp}>
func.func @gradient(%x: tensor<8x4xf32> {lf.layout = #lf.layout<[{}, {tp}], partial sum {dp}>}) { return }
// CHECK-LABEL: @row_max
// CHECK-SAME: #lf.layout<[{}, {dp}], partial max {tp_kv, tp_rep}>
func.func @row_max(%x: tensor<8x4xf32> {lf.layout = #lf.layout<[{}, {dp}], partial max {tp_kv, tp_rep}>}) { return }
// CHECK-LABEL: @stored
// CHECK-SAME: #lf.layout<[{tp}], flat {dp}, closed {tp_rep}>
func.func @stored(%x: tensor<8xf32> {lf.layout = #lf.layout<[{tp}], flat {dp}, closed {tp_rep}>}) { return }
// CHECK-LABEL: @roles
// CHECK-SAME: #lf.roles<g = {tp}, s = {cp}>
func.func @roles() attributes {lf.roles = #lf.roles<g = {tp}, s = {cp}>} { return }
