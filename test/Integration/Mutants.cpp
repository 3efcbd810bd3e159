//===- Mutants.cpp - Programs with one thing wrong --------------------------===//
//
// Text in, text out: the emitted program is the last form in which every movement of data is one line.
//
//===----------------------------------------------------------------------===//
#include "Mutants.h"
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace lf::test {

// Stands behind the tables of axes and communicators, which it reads.
static const char *const helpers = R"(
#include <cstdlib>
#include <cstring>
#include <vector>
namespace mutant {
static bool chosen(int site) {
  static const char *const text = std::getenv("LF_MUTANT");
  return text && std::atoi(text) == site;
}
static int64_t ranks_of(int32_t comm) {
  int64_t n = 1;
  for (size_t i = 0; i < sizeof axes / sizeof *axes; ++i)
    n *= comms[comm].axes >> i & 1 ? axes[i].size : 1;
  return n;
}
static void all_gather(int site, lf_rank *r, const char *what, const void *x, void *y, int64_t count,
                       lf_dtype type, int32_t comm, int32_t stream) {
  if (!chosen(site))
    return lf_all_gather(r, what, x, y, count, type, comm, stream);
  for (int64_t i = 0; i < ranks_of(comm); ++i)
    std::memcpy((real *)y + i * count, x, count * sizeof(real));
}
static void reduce_scatter(int site, lf_rank *r, const char *what, const void *x, void *y, int64_t count,
                           lf_dtype type, lf_reduction how, int32_t comm, int32_t stream) {
  if (!chosen(site))
    return lf_reduce_scatter(r, what, x, y, count, type, how, comm, stream);
  std::memcpy(y, (const real *)x + lf_coordinate(r, comms[comm].axes) * count, count * sizeof(real));
}
static void all_reduce(int site, lf_rank *r, const char *what, const void *x, void *y, int64_t count,
                           lf_dtype type, lf_reduction how, int32_t comm, int32_t stream) {
  if (!chosen(site))
    return lf_all_reduce(r, what, x, y, count, type, how, comm, stream);
  std::memmove(y, x, count * sizeof(real));
}
static void send(int site, lf_rank *r, const char *what, const void *x, int64_t count, lf_dtype type, int32_t pp, int32_t tag) {
  if (!chosen(site))
    lf_send(r, what, x, count, type, pp, tag);
}
static void recv(int site, lf_rank *r, const char *what, void *y, int64_t count, lf_dtype type, int32_t pp, int32_t tag,
                 bool clear) {
  if (!chosen(site))
    return lf_recv(r, what, y, count, type, pp, tag);
  if (clear)
    std::memset(y, 0, count * sizeof(real));
}
template <typename Add> static void half(int site, void *y, int64_t count, Add add) {
  std::vector<real> before;
  if (chosen(site))
    before.assign((real *)y, (real *)y + count);
  add();
  for (size_t i = 0; i < before.size(); ++i)
    ((real *)y)[i] = before[i] + (((real *)y)[i] - before[i]) / 2;
}
static void accumulate(int site, lf_rank *r, const char *what, const void *x, void *y, int64_t count,
                       lf_dtype type) {
  half(site, y, count, [&] { lf_accumulate(r, what, x, y, count, type); });
}
static void matmul(int site, lf_rank *r, const char *what, const void *a, const void *b, void *c, int64_t m, int64_t n,
                   int64_t k, int32_t trans_a, int32_t trans_b, int32_t more, lf_dtype type) {
  half(site, c, m * n, [&] { lf_matmul(r, what, a, b, c, m, n, k, trans_a, trans_b, more, type); });
}
static void embedding_grad(int site, lf_rank *r, const char *what, const int32_t *ids, const void *dy, void *table,
                           int64_t tokens, int64_t rows, int64_t h, int64_t offset, int32_t more) {
  half(site, table, rows * h, [&] { lf_embedding_grad(r, what, ids, dy, table, tokens, rows, h, offset, more); });
}
} // namespace mutant

)";

MutableProgram makeMutable(const std::string &emitted) {
  static const std::regex function(R"(^static void (\w+)\(lf_rank \*r\b.*\{$)");
  static const std::regex call(
      R"re(^  lf_(all_gather|reduce_scatter|all_reduce|accumulate|matmul|embedding_grad|send|recv)\(r, "([^"]*)", (.*)\);$)re");
  static const std::regex message(R"((\w+), (\d+), \w+, (\d+), (\d+))"); // buffer, count, type, pp, tag
  MutableProgram program;
  std::map<std::string, int> exchanges; ///< sites by receiving pipeline rank and tag
  std::istringstream lines(emitted);
  std::string at;
  bool helped = false;
  for (std::string line; std::getline(lines, line); program.source += line + "\n") {
    if (!helped && line.rfind("static real *parameter(", 0) == 0) {
      program.source += helpers;
      helped = true;
    }
    std::smatch match, parts;
    if (std::regex_match(line, match, function))
      at = match[1];
    if (!std::regex_match(line, match, call))
      continue;
    std::string kind = match[1], what = match[2], rest = match[3];
    int site = static_cast<int>(program.mutants.size()) + 1;
    static const std::regex accumulates(R"(.*, 1(, LF_\w+)?)");
    if ((kind == "matmul" || kind == "embedding_grad") && !std::regex_match(rest, accumulates))
      continue;
    if (kind == "send" || kind == "recv") {
      // Messages between stages belong to the schedule; a tied gradient is exchanged when gradients are finished.
      if (at.rfind("sync_grads_pp", 0) != 0)
        continue;
      if (!std::regex_match(rest, parts, message))
        throw std::logic_error("expected a message with buffer, count, pipeline rank and tag, got: " + line);
      std::string receiver = kind == "send" ? parts[3].str() : at.substr(std::string("sync_grads_pp").size());
      auto [known, fresh] = exchanges.try_emplace(receiver + " " + parts[4].str(), site);
      site = known->second;
      if (kind == "recv")
        rest += parts[1].str().find("copy_grad") == std::string::npos ? ", false" : ", true";
      if (fresh)
        program.mutants.push_back({site, "exchange", "to pipeline rank " + receiver + ", " + what});
    } else {
      program.mutants.push_back({site, kind == "matmul" || kind == "embedding_grad" ? kind + " +=" : kind, at + " " + what});
    }
    line = "  mutant::" + kind + "(" + std::to_string(site) + ", r, \"" + what + "\", " + rest + ");";
  }
  if (!helped || program.mutants.empty())
    throw std::logic_error("expected an emitted program with collectives, got other text");
  return program;
}

std::vector<ScheduleMutant> mutateSchedule(const std::string &module) {
  static const std::regex message(R"(^ *(lf\.(?:send|recv|post_recv) "\w+" @\w+ (?:to|from) @\w+) micro_batch.*)");
  std::vector<std::string> lines;
  std::istringstream stream(module);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  auto join = [](const std::vector<std::string> &all) {
    std::string text;
    for (const std::string &line : all)
      text += line + "\n";
    return text;
  };
  std::vector<ScheduleMutant> mutants;
  std::map<std::string, size_t> last; ///< line of the channel's last message
  for (size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(lines[i], match, message))
      continue;
    std::vector<std::string> without = lines;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    mutants.push_back({"dropped: " + lines[i], join(without)});
    auto [before, first] = last.try_emplace(match[1], i);
    if (!first) {
      std::vector<std::string> swapped = lines;
      std::swap(swapped[i], swapped[before->second]);
      mutants.push_back({"exchanged:" + lines[before->second] + " and" + lines[i], join(swapped)});
      before->second = i;
    }
  }
  return mutants;
}

} // namespace lf::test
