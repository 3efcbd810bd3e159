//===- Link.cpp - From C++ to an executable ----------------------*- C++ -*-===//
//
// Finds runtime and compiler, runs the compiler in a temporary folder, and copies the result into place.
//
//===----------------------------------------------------------------------===//
#include "lf/Target/Link.h"
#include "lf/Support/Error.h"
#include "lf/Support/Files.h"
#include "lf/Support/Text.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace lf {

namespace {
/// A folder that is gone when this is.
struct TemporaryFolder {
  TemporaryFolder() {
    llvm::SmallString<128> name;
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("lf-compile", name))
      throw usage("expected a temporary folder that can be made, got " + quote(error.message()) +
                  "; set TMPDIR to one that can be written");
    path = name.c_str();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

struct Runtime {
  fs::path include, archive;
  std::vector<std::string> arguments; ///< what else a program is linked with
};
} // namespace

static fs::path folderOf(const std::string &tool) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return (error ? fs::absolute(tool) : self).parent_path();
}

static Runtime findRuntime(Target target, const std::string &tool) {
  const std::string name = target == Target::cuda ? "lf_runtime_cuda" : "lf_runtime_cpu", file = "lib" + name + ".a";
  fs::path root = folderOf(tool).parent_path();
  Runtime runtime;
  for (const fs::path &folder : {root / "lib", root / LF_INSTALL_LIBDIR, fs::path(LF_BUILD_LIBDIR)})
    if (runtime.archive.empty() && fs::exists(folder / file))
      runtime.archive = folder / file;
  for (const fs::path &folder : {root / "include", fs::path(LF_SOURCE_INCLUDE)})
    if (runtime.include.empty() && fs::exists(folder / "lf/runtime.h"))
      runtime.include = folder;
  if (runtime.archive.empty() || runtime.include.empty())
    throw usage("expected " + file + " and lf/runtime.h beside this tool (in " + quote((root / "lib").string()) +
                " and " + quote((root / "include").string()) + "), got none; build the target " + name +
                (target == Target::cuda ? " (it needs the CUDA Toolkit 13; cmake says whether it was found)" : "") +
                ", or install lf whole");
  fs::path list = runtime.archive.parent_path() / (name + ".link");
  std::ifstream in(list);
  for (std::string line; std::getline(in, line);)
    if (!line.empty())
      runtime.arguments.push_back(line);
  if (runtime.arguments.empty())
    throw usage("expected " + quote(list.string()) + " to list what the runtime is linked with, got nothing");
  return runtime;
}

static std::vector<std::string> words(const std::string &text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;)
    list.push_back(word);
  return list;
}

static std::vector<std::string> findCompiler() {
  const char *chosen = std::getenv("LF_CXX");
  if (chosen && *chosen) {
    std::vector<std::string> command = words(chosen);
    if (!command.empty())
      return command;
  }
  if (fs::exists(LF_CXX_DEFAULT))
    return {LF_CXX_DEFAULT};
  return {"c++"};
}

static void refuseUnwritable(const std::string &output) {
  fs::path path(output), folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  if (output.empty())
    throw usage("\"-o\": expected the name of the executable, got none");
  if (fs::is_directory(path, ignored))
    throw usage("\"-o\": expected a file, got the folder " + quote(output));
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) // a link is followed
    throw usage("\"-o\": expected an ordinary file, got the device, pipe or socket " + quote(output));
  if (!fs::is_directory(folder, ignored))
    throw usage("\"-o\": expected a folder that exists, got " + quote(folder.string()));
  if (access(folder.c_str(), W_OK) != 0 || (fs::exists(path, ignored) && access(path.c_str(), W_OK) != 0))
    throw usage("\"-o\": expected a file that can be written, got " + quote(output) + ": " + std::strerror(errno));
}

/// What a command prints, kept in memory: the disk that it writes to may be full.
struct Log {
  Log() : descriptor(memfd_create("lf-compile-log", 0)) {}
  ~Log() { close(descriptor); }
  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor); }
  int descriptor;
};

static void execute(const std::vector<std::string> &command) {
  llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(command.front());
  if (!program)
    throw usage("expected a C++ compiler, got " + quote(command.front()) + ": " + program.getError().message() +
                "; set LF_CXX to one");
  Log log;
  std::string failure;
  const std::string path = log.path();
  std::vector<llvm::StringRef> arguments(command.begin(), command.end());
  std::optional<llvm::StringRef> streams[] = {llvm::StringRef(""), llvm::StringRef(path), llvm::StringRef(path)};
  int code = llvm::sys::ExecuteAndWait(*program, arguments, std::nullopt, streams, 0, 0, &failure);
  if (code == 0)
    return;
  std::string line;
  for (const std::string &word : command)
    line += (line.empty() ? "" : " ") + word;
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::string> notes = {text.empty() ? "it printed nothing" : "it printed:\n" + text.substr(0, 8000) + (text.size() > 8000 ? "..." : "")};
  if (text.find(std::strerror(ENOSPC)) != std::string::npos)
    notes.push_back("it writes into the folder for temporary files; set TMPDIR to one on another disk");
  throw usage("expected the C++ compiler to succeed, got exit code " + std::to_string(code) +
                  (failure.empty() ? "" : " (" + failure + ")") + " of: " + line,
              notes);
}

void linkExecutable(const std::string &cpp, const std::string &output, Target target, const std::string &tool) {
  refuseUnwritable(output);
  Runtime runtime = findRuntime(target, tool);
  TemporaryFolder folder;
  fs::path source = folder.path / "train.cpp", result = folder.path / "train";
  writeFile(source.string(), cpp, "TMPDIR");
  const char *level = std::getenv("LF_OPT");
  std::vector<std::string> command = findCompiler();
  for (const std::string &word :
       {std::string("-std=c++17"), "-O" + std::string(level && *level ? level : "1"), "-I" + runtime.include.string(),
        source.string(), std::string("-o"), result.string(), runtime.archive.string()})
    command.push_back(word);
  command.insert(command.end(), runtime.arguments.begin(), runtime.arguments.end());
  execute(command);
  std::ifstream made(result, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(made)), std::istreambuf_iterator<char>());
  if (made.bad() || bytes.empty())
    throw usage("expected the C++ compiler to write " + quote(result.string()) + ", got nothing that can be read");
  writeFile(output, bytes, "-o", /*executable=*/true);
}

} // namespace lf
