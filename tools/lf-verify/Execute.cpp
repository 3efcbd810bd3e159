//===- Execute.cpp - Compiling and running one side of the comparison -------===//
//
// See Execute.h.
//
//===----------------------------------------------------------------------===//
#include "Execute.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Support/Error.h"
#include "lf/Support/Text.h"
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace lf {

/// Runs a program with its output in `log`; its exit code, or 128 + the signal that ended it.
static int run(const std::vector<std::string> &words, const std::string &log) {
  std::vector<char *> argv;
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) {
      dup2(file, 1);
      dup2(file, 2);
    }
    // One rank a thread, whatever launcher this tool was started by.
    for (const char *name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE"})
      unsetenv(name);
    setenv("LF_CHECK_REPLICAS", "1", 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static std::string endOf(const std::string &file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  return text.size() > 2000 ? "..." + text.substr(text.size() - 2000) : text;
}

RunResult runExecutable(const std::string &executable, const RunSettings &settings, const std::string &folder) {
  const std::string metrics = folder + "/metrics.jsonl", log = folder + "/log";
  int code = run({executable,
                  "--data-path",
                  settings.tokens,
                  "--no-shuffle",
                  "--train-iters",
                  std::to_string(settings.steps),
                  "--lr",
                  "1e-3",
                  "--lr-decay-style",
                  "constant",
                  "--adam-eps",
                  "1e-5",
                  "--weight-decay",
                  "0.1",
                  "--clip-grad",
                  number(settings.clip),
                  "--seed",
                  "7",
                  "--log-interval",
                  "1",
                  "--metrics",
                  metrics,
                  "--dump-gradients",
                  folder + "/gradients",
                  "--save-hf",
                  folder + "/weights"},
                 log);
  if (code != 0)
    throw Error(code == 1 ? Exit::notEqual : Exit::communication,
                code == 1 ? "expected every copy of a parameter to be equal bit for bit, got a difference"
                          : "expected " + quote(executable) + " to end with exit code 0, got " + std::to_string(code),
                {endOf(log)});
  RunResult result;
  std::ifstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("loss") || !object.contains("grad_norm"))
      throw Error(Exit::data, quote(metrics) +
                                  ": expected a JSON object with \"loss\" and \"grad_norm\" on each line, got " +
                                  quote(line));
    result.loss.push_back(object["loss"].get<double>());
    result.gradNorm.push_back(object["grad_norm"].get<double>());
    if (object.contains("mtp_loss"))
      for (const auto &loss : object["mtp_loss"])
        result.mtpLoss.push_back(loss.get<double>());
  }
  if (static_cast<int64_t>(result.loss.size()) != settings.steps)
    throw Error(Exit::data, quote(metrics) + ": expected " + std::to_string(settings.steps) + " lines, got " +
                                std::to_string(result.loss.size()));
  result.gradients = readTensors(folder + "/gradients");
  result.weights = readTensors(folder + "/weights");
  return result;
}

RunResult compileAndRun(const ModelConfig &model, const ParallelPlan &plan, const RunSettings &settings,
                        const std::string &folder, const std::string &tool) {
  std::filesystem::create_directories(folder);
  CompileRequest request;
  request.plan = plan;
  request.plan.notices.clear();
  request.output = folder + "/train";
  request.planOut = folder + "/plan.json";
  setenv("LF_OPT", "0", 1);
  runCompile(request, model, tool);
  return runExecutable(request.output, settings, folder);
}

} // namespace lf
