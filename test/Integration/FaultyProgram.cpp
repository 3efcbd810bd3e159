//===- FaultyProgram.cpp - A compiled program that fails when it is told ----===//
//
// See FaultyProgram.h.
//
//===----------------------------------------------------------------------===//
#include "FaultyProgram.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Support/Files.h"
#include "lf/Support/Json.h"
#include "lf/Target/Link.h"
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lf::test {

static const char *const model =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 20, "vocab_size": 37, "max_position_embeddings": 64,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": true, "initializer_range": 0.2})";

// Goes before the function `step`.
static const char *const fault = R"(
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>
static void fault(lf_rank *r) {
  static thread_local int step = 0;
  int rank = -1, at = 0;
  char what[16] = "";
  const char *text = std::getenv("LF_FAULT");
  if (++step, !text || std::sscanf(text, "%d %d %15s", &rank, &at, what) != 3 || step != at ||
                  lf_coordinate(r, (1u << sizeof axes / sizeof *axes) - 1) != rank)
    return;
  if (!std::strcmp(what, "die"))
    raise(SIGKILL);
  if (!std::strcmp(what, "stop"))
    raise(SIGSTOP);
  if (!std::strcmp(what, "throw")) {
    sleep(1);
    throw std::runtime_error("a fault of the test");
  }
  while (!std::strcmp(what, "sleep"))
    sleep(1);
}

)";

std::string compileFaulty(const Scratch &scratch, const std::string &name, const std::vector<std::string> &flags) {
  writeFile(scratch / "config.json", model, "config.json");
  std::string tokens;
  for (int i = 0; i < 16 * 4 * 12 + 1; ++i)
    tokens += {static_cast<char>((i * i + 5 * i / 3) % 37), '\0'};
  writeFile(scratch / "tokens.bin", tokens, "tokens");

  std::vector<std::string> args = {scratch / "config.json", "--dry-run", "--fp32", "--seq-length", "16",
                                   "--global-batch-size",   "4"};
  args.insert(args.end(), flags.begin(), flags.end());
  ModelConfig config;
  CompileRequest request = parseCompile(args, config);
  request.dryRun = false;
  request.emit = "cpp";
  request.output = scratch / (name + ".cpp");
  std::filesystem::path tool = std::filesystem::read_symlink("/proc/self/exe");
  runCompile(request, config, tool);
  std::string source = readFile(request.output, "the emitted program");
  const std::string head = "static void step(lf_rank *r) {\n";
  size_t at = source.find(head);
  if (at == std::string::npos)
    throw std::logic_error("expected an emitted program with a function step, got other text");
  source.insert(at + head.size(), "  fault(r);\n");
  source.insert(at, fault);
  setenv("LF_OPT", "0", 1);
  linkExecutable(source, scratch / name, Target::cpu, tool);
  return scratch / name;
}

Finished runProgram(const std::vector<std::string> &words, const std::vector<std::string> &environment, double limit,
                    const std::function<bool()> &killWhen) {
  using Clock = std::chrono::steady_clock;
  Scratch scratch;
  std::string log = scratch / "log";
  std::vector<char *> argv;
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  auto start = Clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  pid_t child = fork();
  if (child == 0) {
    int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(file, 1);
    dup2(file, 2);
    for (const std::string &setting : environment)
      putenv(const_cast<char *>(setting.c_str()));
    execvp(argv[0], argv.data());
    _exit(127);
  }
  if (child < 0)
    throw std::runtime_error("expected a process, got none");
  int status = 0;
  bool late = false;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (killWhen && killWhen())
      kill(child, SIGKILL);
    if (seconds() > limit) {
      late = true;
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  int code = late ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, readFile(log, "log"), seconds()};
}

} // namespace lf::test
