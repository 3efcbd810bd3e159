#!/usr/bin/env bash
# Installs what is missing to build lf on Debian 12 (or a later one): compilers, MLIR 22, libraries. Does nothing when
# everything is there.
set -euo pipefail

packages=(
  g++ clang-22 lld-22 cmake ninja-build ccache python3
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  nlohmann-json3-dev libcxxopts-dev libopenblas-dev mpich libmpich-dev libgtest-dev
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "setup: installing ${missing[*]}"
run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: expected root or sudo to install packages, got neither: install ${missing[*]} and run this again" >&2; exit 2; }
  run=(sudo)
fi
command -v apt-get >/dev/null || { echo "setup: expected apt-get (Debian), got none: install ${missing[*]} by hand" >&2; exit 2; }
"${run[@]}" apt-get update -qq
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
