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
  std::map<std::array<int64_t, 3>, BufferType> largest; // by tag, from, to: stages in order
  for (ProgramOp program : l.module.getOps<ProgramOp>()) {
    llvm::StringSet<> seen;
    for (RunOp run : program.getBody().getOps<RunOp>()) {
      if (!seen.insert(run.getCallee()).second)
        continue;
      for (SendOp send : l.module.lookupSymbol<FuncOp>(run.getCallee()).getBody().getOps<SendOp>()) {
        auto type = cast<BufferType>(send.getX().getType());
        BufferType &known = largest[{int64_t(send.getTag()), int64_t(program.getPp()), int64_t(send.getPp())}];
        if (!known || known.getBytes() < type.getBytes())
          known = type;
      }
    }
  }
  OpBuilder::InsertionGuard guard(b);
  for (MemoryOp memory : l.module.getOps<MemoryOp>()) // behind the last table
    b.setInsertionPointAfter(memory);
  for (const auto &[key, type] : largest)
    MessageOp::create(b, l.module.getLoc(), key[1], key[2], key[0], type);
}

} // namespace mlir::lfrt
