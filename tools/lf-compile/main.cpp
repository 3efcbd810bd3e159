//===- main.cpp - lf-compile: a model and a plan become an executable ------===//
//
// Words in, exit code out; everything else is lib/Plan (the command line) and lib/Pipelines (the driver).
//
//===----------------------------------------------------------------------===//
#include "lf/Pipelines/Driver.h"
#include "lf/Support/Error.h"
#include <iostream>
#include <new>

int main(int argc, char **argv) {
  try {
    lf::ModelConfig model;
    lf::CompileRequest request = lf::parseCompile(std::vector<std::string>(argv + 1, argv + argc), model);
    int code = 0;
    if (request.help)
      std::cout << lf::compileHelp();
    else
      code = lf::runCompile(request, model, argv[0]);
    if (!std::cout.flush())
      throw lf::usage("standard output: expected a file that can be written, got an error; is its disk full?");
    return code;
  } catch (const lf::Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    for (const std::string &note : error.notes)
      std::cerr << "note: " << note << "\n";
    return static_cast<int>(error.code);
  } catch (const std::bad_alloc &) {
    std::cerr << "error: expected enough memory to compile this plan, got none left\n";
    return static_cast<int>(lf::Exit::usage);
  }
}
