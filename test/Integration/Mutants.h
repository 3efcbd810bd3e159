//===- Mutants.h - Programs with one thing wrong ----------------------------===//
//
// An emitted program has one call for each collective and each accumulation of a gradient. Each becomes a site; the
// environment variable LF_MUTANT chooses the one that misbehaves, so that a plan is compiled once for all its mutants.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

namespace lf::test {

struct Mutant {
  int site = 0;
  std::string kind;  ///< "all_gather", ..., "exchange" (of a tied gradient), "accumulate", "matmul +="
  std::string place; ///< function and what the call is for: "decoder_fwd o_part"
};

struct MutableProgram {
  std::string source; ///< C++; as emitted while LF_MUTANT is unset
  std::vector<Mutant> mutants;
};

/// What a site does when it is chosen: a gather repeats this rank's part, a reduce-scatter keeps its part of its own
/// terms, an all-reduce keeps its own terms, an exchange sends and receives nothing (a receive into a buffer of its own
/// gives zeros), an accumulation adds half. Throws std::logic_error when the text is not of the form that
/// lf-emit-cpp writes.
MutableProgram makeMutable(const std::string &emitted);

/// A schedule with one edge wrong.
struct ScheduleMutant {
  std::string change; ///< "pp1: lf.recv ... before lf.recv ..."
  std::string module;
};

/// Of a module after phase "schedule": every two neighbouring messages of one rank and channel exchanged, and every
/// message dropped, in turn.
std::vector<ScheduleMutant> mutateSchedule(const std::string &module);

} // namespace lf::test
