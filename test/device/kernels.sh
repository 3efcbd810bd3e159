#!/usr/bin/env bash
# Kernels and the local transport against references, and compute-sanitizer over a whole small program, on a machine with a GPU;
# prints a table. It builds nothing.
#   kernels.sh FOLDER
# FOLDER/lf-device-conformance; FOLDER/small/{train,tokens.bin}: a program of which one step is run under memcheck and racecheck.
# Logs stay in FOLDER/results. Exit code 1 when anything failed.
. "$(dirname "$0")/harness.sh"

limited 300 "$folder/lf-device-conformance" > "$results/conformance.log" 2>&1
code=$?
seed=$(grep -o 'LF_TEST_SEED=[0-9]*' "$results/conformance.log")
row conformance $code "$(grep -E '^\[  PASSED|FAILED TEST' "$results/conformance.log" | head -1) $seed"
[ $code = 0 ] || grep -E -A4 'Failure|FAILED|error' "$results/conformance.log" | head -60

for tool in memcheck racecheck; do
  limited 240 compute-sanitizer --tool $tool --error-exitcode 9 "$folder/small/train" --data-path "$folder/small/tokens.bin" \
    --train-iters 1 --lr 1e-3 > "$results/$tool.log" 2>&1
  code=$?
  grep -q '^done: 1 steps' "$results/$tool.log" || code=1
  row "compute-sanitizer $tool" $code "$(grep -E 'SUMMARY|rror' "$results/$tool.log" | tail -1)"
done
finish
