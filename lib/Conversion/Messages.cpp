//===- Messages.cpp - The table of messages ----------------------*- C++ -*-===//
//
// What the programs send, once for each pair of pipeline ranks and tag. Some transports have to connect such a pair first,
// with both sides waiting for each other: all ranks do that in the order of this table, before the first step.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"
#include "llvm/ADT/StringSet.h"
#include <array>

namespace mlir::lfrt {

void writeMessages(Lowering &l, OpBuilder &b) {
  std::map<std::array<int64_t, 4>, BufferType> largest; // by round, tag, from, to
  for (ProgramOp program : l.module.getOps<ProgramOp>()) {
    llvm::StringSet<> seen;
    for (RunOp run : program.getBody().getOps<RunOp>()) {
      if (!seen.insert(run.getCallee()).second)
        continue;
      for (SendOp send : l.module.lookupSymbol<FuncOp>(run.getCallee()).getBody().getOps<SendOp>()) {
        auto type = cast<BufferType>(send.getX().getType());
        // Both directions between two stages, then the next two: in one order of stages each pair would wait for the one
        // before it, down the whole pipeline. Every second pair goes first, so that they connect side by side.
        int64_t tag = send.getTag(), round = (tag + 1) / 2 % 2;
        BufferType &known = largest[{round, tag, int64_t(program.getPp()), int64_t(send.getPp())}];
        if (!known || known.getBytes() < type.getBytes())
          known = type;
      }
    }
  }
  OpBuilder::InsertionGuard guard(b);
  for (MemoryOp memory : l.module.getOps<MemoryOp>()) // behind the last table
    b.setInsertionPointAfter(memory);
  for (const auto &[key, type] : largest)
    MessageOp::create(b, l.module.getLoc(), key[2], key[3], key[1], type);
}

} // namespace mlir::lfrt
