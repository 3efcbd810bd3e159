//===- StageLayout.h - The stages of a pipeline, checked ------------------===//
//
// Binds the text of a layout to a model (decoder and MTP layers) and to pipeline ranks: which rank and chunk holds each
// stage, and which layers are in it. Every layer is accounted for, or the layout is refused.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/LayoutString.h"
#include "lf/Schedule/Placement.h"

namespace lf {

/// One stage: what one chunk of one pipeline rank computes. Items are the symbols of the layout; an empty stage passes
/// its input on.
struct PipelineStage {
  int64_t stage = 0, pp = 0, chunk = 0;
  std::string items;           ///< e.g. "Ettt"
  std::vector<int64_t> layers; ///< decoder layer numbers, ascending
  std::vector<int64_t> mtp;    ///< depths of the MTP layers, ascending
};

struct StageLayout {
  Placement placement;
  std::vector<PipelineStage> stages; ///< in stage order: the order of the forward pass
  std::string text;                  ///< canonical (printLayout)
};

/// What a layout must agree with.
struct LayoutRequest {
  int64_t pp = 1;
  int64_t layers = 0;
  int64_t mtp = 0;
  int64_t chunks = 0;     ///< chunks on a rank that the schedule asks for; 0: stages / pp
  /// Chunks that may be proposed, by what else was asked for; they are not checked here.
  int64_t fewestChunks = 1, mostChunks = layoutLimit;
  bool overlapP2p = true; ///< off: more than one chunk needs pp > 2
  PlacementKind placement = PlacementKind::roundRobin;
  std::string place = "--pipeline-model-parallel-layout"; ///< named in messages
};

/// Checks `text` against `request` and numbers the layers. Throws lf::Error (exit 2) for the first of these that does
/// not hold; both numbers are in the message, and a note proposes the nearest legal layout:
///   C1 the model has at least one decoder layer, pp is at least 1
///   C2 the number of stages is a multiple of pp (and gives `chunks`)
///   C3 more than one chunk needs pp > 1, and pp > 2 without overlapped p2p
///   C4 the first stage begins with E, the last ends with L
///   C5 exactly one E and one L
///   C6 as many t as decoder layers
///   C7 as many m as MTP layers
///   C8 no t after an m
///   C9 m only in the last chunk of a rank, and all in one stage
StageLayout resolveLayout(const LayoutText &text, const LayoutRequest &request);

/// parseLayout and resolveLayout.
StageLayout resolveLayout(std::string_view text, const LayoutRequest &request);

/// Places and numbers stages that are known to be legal (C1 to C9).
StageLayout placeStages(const std::vector<std::string> &stages, const Placement &placement);

/// The legal layout nearest to `stages`: bars are added or removed only where the number of stages is wrong, layers only
/// where their number is. Of several the one that differs least, every symbol and bar put in or taken out counting one;
/// an empty stage in front of E or behind L is thus dropped rather than filled. Empty when `request` admits none (C1).
std::string proposeLayout(const std::vector<std::string> &stages, const LayoutRequest &request);

} // namespace lf
