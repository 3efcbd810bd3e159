//===- LfOps.td - All ops of the dialect -----------------------*- tablegen -*-===//
//
// The one file that table generation reads.
//
//===----------------------------------------------------------------------===//
include "lf/LfModelOps.td"
include "lf/LfCollectiveOps.td"
include "lf/LfPipelineOps.td"
