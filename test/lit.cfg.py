# lit configuration: what runs the .mlir tests, and where the tools are.
import os
import sys

import lit.formats

config.name = "lf"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "README.md"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.lf_build, "test")
config.environment["PATH"] = os.pathsep.join([os.path.join(config.lf_build, "bin"), config.llvm_tools, os.environ["PATH"]])
config.environment["LF_BUILD"] = config.lf_build
config.environment["LF_OPT"] = "0"  # emitted programs are compiled at -O0 here
if config.cuda:
    config.available_features.add("cuda")
config.substitutions.append(("%models", os.path.join(config.test_source_root, "models")))
config.substitutions.append(("%install", f"{config.cmake} --install {config.lf_build} --prefix"))
config.substitutions.append(("%python", sys.executable))
