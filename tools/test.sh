#!/usr/bin/env bash
# Installs, builds and runs every test: unit and runtime tests (ctest), dialect, pass and end-to-end tests (lit).
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${LF_BUILD:-$root/build}
"$root/tools/setup.sh" && "$root/tools/build.sh" all || exit 1
status=0
ctest --test-dir "$build" --output-on-failure -j2 || status=1
lit=/usr/lib/llvm-22/bin/lit
"$lit" -s "$build/test" | tee "$build/lit.log" || status=1
count() { sed -nE "s/^ *$1 *: *([0-9]+).*/\1/p" "$build/lit.log" | awk '{ n += $1 } END { print n + 0 }'; }
echo "lit: $(count Passed) passed, $(($(count Failed) + $(count Unresolved) + $(count 'Timed Out'))) failed"
exit $status
