#!/usr/bin/env bash
# Installs, builds and runs every test: unit and runtime tests (ctest), dialect, pass and end-to-end tests (lit).
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${LF_BUILD:-$root/build}
"$root/tools/setup.sh" && "$root/tools/build.sh" || exit 1
status=0
ctest --test-dir "$build" --output-on-failure -j2 || status=1
lit=/usr/lib/llvm-22/bin/lit
"$lit" -s "$build/test" | tee "$build/lit.log" || status=1
count() { awk -F: -v name="$1" '$0 ~ "^ *" name { gsub(/[^0-9]/, "", $2); n += $2 } END { print n + 0 }' "$build/lit.log"; }
echo "lit: $(count Passed) passed, $(($(count Failed) + $(count Unresolved) + $(count 'Timed Out'))) failed"
exit $status
