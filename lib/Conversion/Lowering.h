//===- Lowering.h - What the parts of lf-lower-to-runtime share --------------===//
//
// The mesh and communicators, the places of parameters, the bodies with their bundles; one struct an idea.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Conversion/ArenaPlan.h"
#include "lf/Conversion/Conversion.h"
#include "mlir/IR/Builders.h"
#include <map>

namespace mlir::lfrt {

using Name = std::pair<std::string, std::string>; ///< owner and name of a parameter

inline RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }
inline BufferType bufferFor(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return BufferType::get(type.getContext(), type.getElementType(), type.getNumElements());
}

inline Value record(OpBuilder &b, Location loc, StringRef stream) {
  return RecordOp::create(b, loc, EventType::get(b.getContext()), stream);
}

//===----------------------------------------------------------------------===//
// Mesh and communicators
//===----------------------------------------------------------------------===//

/// Axes without those of size 1 (they never communicate), and a communicator for each set that is used.
class Groups {
public:
  explicit Groups(lf::MeshOp mesh) : mesh(mesh) {}
  lf::MeshOp mesh;
  /// The given axes that have more than one rank, in the order of the mesh.
  ::lf::Axes trim(const ::lf::Axes &axes) const;
  int64_t size(const ::lf::Axes &axes) const;
  /// Name of the communicator over these (trimmed) axes; made at the first use.
  std::string comm(const ::lf::Axes &axes);
  /// lf_coordinate(axes) * scale, or a plain 0 without axes.
  Attribute coordinate(const ::lf::Axes &axes, int64_t scale) const;
  /// In the order of first use.
  std::vector<std::pair<std::string, ::lf::Axes>> comms;
};

//===----------------------------------------------------------------------===//
// Bodies and bundles
//===----------------------------------------------------------------------===//

/// How a backward finds one saved value of its forward.
struct SavedValue {
  enum { inBundle, parameter, integer } from = inBundle;
  int64_t offset = 0;              ///< inBundle: byte of the layer's bundle
  Name name;                       ///< parameter
  std::string input;               ///< integer: "ids", "labels", "ids_1", ..., "positions"
  std::vector<lf::SliceOp> slices; ///< integer: how the part was cut, first cut first
};

/// Where a value lies that the backward hands to the weight pass.
struct Crossing {
  SavedValue place;
  std::optional<int64_t> copyAfter; ///< copied there after this op of the backward (-1: before all); else made there
};

/// One pass of one layer kind.
struct Body {
  FuncOp func;
  std::vector<Name> parameters;      ///< in the order of the places that a call passes
  std::vector<std::string> integers; ///< lf.input of the integer arguments, in order
  std::vector<RankedTensorType> integerTypes;
};

/// A layer kind, "embed", "head", or what stands between: "final", "mtp". Its bundle begins with its input (not of
/// "embed").
struct Kind {
  std::string name;
  bool isEmbed = false, isHead = false, isMtp = false;
  func::FuncOp forward, backward; ///< of lf
  func::FuncOp weight;            ///< of lf; null unless lf-split-backward made it
  Body fwd, bwd, wgt;
  std::vector<SavedValue> saved;    ///< one for each saved result
  std::vector<Crossing> crossing;   ///< one for each value that the backward hands to the weight pass
  /// The functions that there are.
  SmallVector<func::FuncOp, 3> functions() const {
    SmallVector<func::FuncOp, 3> list = {forward, backward};
    if (weight)
      list.push_back(weight);
    return list;
  }
  std::map<int64_t, std::string> names; ///< of the values in the bundle, by byte
  int64_t bundle = 0;                   ///< bytes, aligned
};

//===----------------------------------------------------------------------===//
// Stages and parameters
//===----------------------------------------------------------------------===//

/// `count` layers of one kind from number `first` on; -1 and 1 outside the layers.
struct Run {
  Kind *kind;
  int64_t first, count;
  int64_t bundle = 0; ///< byte of the stage's bundle where the first one's begins
};

/// What an lf.stage runs. Where layers have a weight pass, the last stage is two: its layers, and the tail with the
/// head, which follows on the same rank.
struct Stage {
  lf::StageOp op;
  int64_t index, pp;
  std::vector<Run> runs;
  /// Ids and labels that its bodies take, and their byte of the bundle.
  std::vector<std::pair<std::string, int64_t>> tokens{};
  int64_t input = 0;  ///< where the stage's input lies in it
  int64_t bundle = 0; ///< bytes
  bool first = false, last = false; ///< begins with the embedding; ends with the head
  bool isTail = false;              ///< the second half of the last lf.stage
  bool inWorkspace = false;         ///< its bundle lies where other bodies have their workspace
  std::string name() const { return lf::StageOp(op).getSymName().str() + (isTail ? ".tail" : ""); }
  /// Cotangents that a backward writes: one for each layer, and the head's.
  int64_t steps() const {
    int64_t n = 0;
    for (const Run &run : runs)
      n += run.kind->isEmbed ? 0 : run.count;
    return n;
  }
  bool hasWeightPass() const {
    return llvm::any_of(runs, [](const Run &run) { return bool(run.kind->weight); });
  }
};

/// A parameter run of one pipeline rank, as lf_place.
struct Place {
  Name name;
  int64_t pp, first, count, offset, stride;
  bool copy;
};
struct Region {
  int64_t pp, offset, count;
  ::lf::Axes partial, owned;
  bool decay, copy;
  std::string tied;           ///< the parameter that lives on several pipeline ranks, alone in its region; or empty
  int64_t tiedIndex = -1;     ///< its number: gradients are exchanged in this order on every rank
  std::vector<int64_t> peers; ///< of the original: the ranks of its copies; of a copy: the rank of the original
};

/// Everything the passes below share.
struct Lowering {
  explicit Lowering(ModuleOp module, lf::MeshOp mesh) : module(module), groups(mesh) {}
  ModuleOp module;
  Groups groups;
  std::map<std::string, Kind> kinds;
  std::vector<Stage> stages; ///< in the order of the forward pass
  std::vector<lf::DeclareOp> parameters;
  std::vector<Place> places;
  std::vector<Region> regions;
  std::vector<int64_t> elements; ///< of the parameter arena, for each pipeline rank
  Type real; ///< of activations and of the parameters that kernels read
  Type main; ///< of gradients of parameters, master weights and moments
  int64_t hidden = 0;   ///< elements of the boundary value
  int64_t sequence = 0; ///< whole
  int64_t batch = 0;
  int64_t numRanks = 1; ///< pipeline ranks
  bool usesPositions = false;

  int64_t realBytes() const { return real.getIntOrFloatBitWidth() / 8; }
  int64_t mainBytes() const { return main.getIntOrFloatBitWidth() / 8; }
  lf::DeclareOp declaration(const Name &name) const;
  int64_t parameterIndex(const Name &name) const;
  /// Number of the lf.place; there always is one for parameters that a stage of `pp` uses.
  int64_t placeIndex(const Name &name, int64_t pp, int64_t first) const;
};

/// Emits an error at the op and fails unless everything below can lower the module.
LogicalResult verifyLowerable(ModuleOp);
/// By how many tokens "ids", "labels" (0), "ids_1" (1), ... are shifted; -1: the name is of no such input.
int64_t shiftOf(StringRef input);
/// Fills kinds (functions only) and stages from lf.chain, lf.stage and the functions.
void collectStages(Lowering &);
/// Bundles of kinds and stages.
void layOutBundles(Lowering &);
/// lf.param and lf.accumulate of a function, by parameter, in order of first use.
std::vector<Name> parametersOf(func::FuncOp);
/// Elements of the local shard of a parameter.
int64_t localElements(Lowering &, lf::DeclareOp);
/// Fills parameters, places, regions.
void placeParameters(Lowering &);
/// Fills kind.fwd and kind.bwd.
void lowerBodies(Lowering &, OpBuilder &);
/// Stage actions, synchronisation, optimizer, and the programs. Yields bytes of (saved, base) for each pipeline rank.
std::vector<std::pair<int64_t, int64_t>> lowerPrograms(Lowering &, OpBuilder &);
/// lfrt.mesh, model, comm, parameter, place, region, memory, at the beginning of the module.
void writeTables(Lowering &, OpBuilder &, const std::vector<std::pair<int64_t, int64_t>> &memory);
/// After the programs and the other tables.
void writeMessages(Lowering &, OpBuilder &);

/// Values of a function that lie where another value lies: identities, and what is computed in place.
llvm::DenseMap<Value, Value> aliasesOf(const Groups &, func::FuncOp);
/// Where v lies: the first of its chain of aliases.
Value rootOf(const llvm::DenseMap<Value, Value> &aliases, Value v);

/// Follows a value back through collectives over one rank, which move nothing.
Value throughIdentities(const Groups &, Value);
bool isIdentity(const Groups &, Operation *);
/// The integer argument of which this is a part, and the cuts; null when it is something else.
BlockArgument integerSource(const Groups &, Value, std::vector<lf::SliceOp> &slices);

} // namespace mlir::lfrt
