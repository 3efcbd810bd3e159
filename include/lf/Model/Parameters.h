//===- Parameters.h - The parameters of a model, and their names in files -===//
//
// The one table from which the importer makes lf.param, the loader finds its tensors and the planner counts bytes.
// Dims are those of the logical program (layout_calculus 2): heads visible, inputs first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Model/ModelConfig.h"
#include <cstdint>
#include <string>
#include <vector>

namespace lf {

enum class Init { zeros, ones, normal };

/// Which strategy list splits a dim (SPLIT table of the layout calculus): nothing, tp, its kv part, its repeating part.
enum class Split { none, tp, tpKv, tpRep };

struct Parameter {
  std::string name;            ///< in the body: "q"
  std::string hfName;          ///< "model.layers.%d.self_attn.q_proj.weight"; "%d" only for layers
  std::string owner;           ///< "embed", "head", or a layer kind's name
  std::vector<int64_t> shape;  ///< logical, unpadded; the vocabulary dim is padded by the plan
  std::vector<Split> split;    ///< one for each dim
  bool closedOverRep = false;  ///< wk, wv: repeated on purpose over the repeating part of tp
  int vocabDim = -1;           ///< the dim that is the vocabulary, or -1
  int rowDims = 0;             ///< dims that form the rows of the 2-D view; 0: a 1-D tensor
  bool hfTransposed = false;   ///< stored [cols, rows]
  int64_t hfCol = 0, hfCols = 0; ///< columns hfCol .. hfCol + cols of hfCols (more than cols: fused)
  int64_t hfRow = 0, hfRows = 0; ///< rows hfRow .. hfRow + rows of hfRows; 0: all rows
  bool optional = false;         ///< a weight file may lack it
  bool decay = false;          ///< two or more dims as stored
  Init init = Init::normal;
  double initStd = 0.0;
};

/// All parameters of one owner, in program order: "embed", "head" (of a tied model: without the head weight, which is
/// the parameter "embedding" of "embed"), or a layer kind. With multi-token prediction also "final" (the final norm,
/// which "head" then lacks) and "mtp" (all depths; names begin with "mtp0_", "mtp1_", ...; in files layer `layers` +
/// depth).
std::vector<Parameter> parametersOf(const ModelConfig &, const std::string &owner);

/// Number of parameters of the whole model, without padding, a tied head counted once.
int64_t parameterCount(const ModelConfig &);

} // namespace lf
