// RUN: lf-opt %s -verify-diagnostics -split-input-file

// L1: an axis splits two dims.
// expected-error @+1 {{(L1) expected each axis at most once in a layout's dims, partial and flat}}
func.func @twice(%x: tensor<8x4xf32> {lf.layout = #lf.layout<[{tp}, {tp}]>}) { return }

// -----

// L1: an axis both splits and is partial.
// expected-error @+1 {{(L1) expected each axis at most once in a layout's dims, partial and flat}}
func.func @both(%x: tensor<8x4xf32> {lf.layout = #lf.layout<[{tp}, {}], partial sum {tp}>}) { return }

// -----

// expected-error @+1 {{expected "partial", "flat" or "closed"}}
func.func @word(%x: tensor<8xf32> {lf.layout = #lf.layout<[{tp}], split {dp}>}) { return }

// -----

// expected-error @+1 {{expected a factor (one letter, once), got "gr"}}
func.func @factor() attributes {lf.roles = #lf.roles<gr = {tp}>} { return }
