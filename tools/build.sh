#!/usr/bin/env bash
# Configures and builds in build/ (or $LF_BUILD): the tools and the runtime, or the targets named ("all": tests too).
# Clang 22 and lld make it three times as fast as g++ and ld.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${LF_BUILD:-$root/build}
if [ ! -f "$build/build.ninja" ]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(lf-opt lf-compile lf-verify lf_runtime_cpu)
ninja -C "$build" "${targets[@]}"
