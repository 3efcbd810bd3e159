#!/usr/bin/env bash
# Runs everything it finds on a machine with a GPU, and prints a table. It builds nothing.
#   run.sh FOLDER [STEPS]
# FOLDER/lf-device-conformance: kernels and the local transport against references.
# FOLDER/programs/NAME/{cuda,cpu,ranks,tokens.bin}: one emitted program linked with each runtime, its number of ranks,
# its data. cuda must train as cpu does (local, and nccl with a process for each rank), and twice with the same bits.
# Logs and metrics stay in FOLDER/results. Exit code 1 when anything failed. LF_SANITIZE=0: without compute-sanitizer;
# LF_ONLY=NAME: that program alone.
set -u
folder=$(cd "${1:?the folder with what to run}" && pwd)
steps=${2:-20}
here=$(cd "$(dirname "$0")" && pwd)
results=$folder/results
mkdir -p "$results"
. "$here/table.sh"
. "$here/jobs.sh"
trap 'kill $(jobs -p) 2> /dev/null' EXIT # nothing of a run that was cut short stays on the GPU

# Runs a command with a time limit; its output goes to results/NAME.log.
try() { # NAME SECONDS COMMAND...
  local name=$1 limit=$2
  shift 2
  timeout "$limit" "$@" > "$results/$name.log" 2>&1
}

same() { # A B LOSS-RTOL NORM-RTOL
  python3 "$here/compare.py" "$results/$1.jsonl" "$results/$2.jsonl" "$3" "$4" 2>&1
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2> /dev/null

if [ -x "$folder/lf-device-conformance" ]; then
  try conformance 300 "$folder/lf-device-conformance"
  code=$?
  seed=$(grep -o 'LF_TEST_SEED=[0-9]*' "$results/conformance.log")
  row conformance $code "$(grep -E '^\[  PASSED|FAILED TEST' "$results/conformance.log" | head -1) $seed"
  [ $code = 0 ] || grep -E -A4 'Failure|FAILED|error' "$results/conformance.log" | head -60
  if sanitizer=$(command -v compute-sanitizer) && [ "${LF_SANITIZE:-1}" = 1 ]; then
    for tool in memcheck racecheck; do
      try "sanitizer-$tool" 240 "$sanitizer" --tool $tool --error-exitcode 9 "$folder/lf-device-conformance" \
        --gtest_filter='Norm*:Attention.Forward*:Embedding*:CrossEntropy*:Rope*:Elementwise*:Optimizer*:Matmul.Bias-*.Large*'
      code=$?
      row "compute-sanitizer $tool" $code "$(grep -E 'SUMMARY|rror' "$results/sanitizer-$tool.log" | tail -1)"
    done
  fi
fi

for program in "$folder"/programs/*/; do
  name=$(basename "$program")
  [ -x "$program/cuda" ] && [ "${LF_ONLY:-$name}" = "$name" ] || continue
  ranks=$(cat "$program/ranks")
  data=(--data-path "$program/tokens.bin" --lr 1e-3 --log-interval 1000)
  rm -f "$results/$name".*.jsonl
  train() { # RUN TARGET STEPS
    try "$name.$1" 300 "$program/$2" "${data[@]}" --train-iters "$3" --metrics "$results/$name.$1.jsonl"
  }
  if [ -x "$program/cpu" ]; then
    train cpu cpu "$steps"
    row "$name cpu" $? "$(tail -1 "$results/$name.cpu.log")"
  fi
  train local cuda "$steps"
  row "$name local" $? "$(grep -E 'error|^done' "$results/$name.local.log" | head -1)"
  [ -x "$program/cpu" ] && { text=$(same "$name.cpu" "$name.local" 1e-4 1e-3); row "$name local = cpu" $? "$text"; }
  train again cuda "$steps"
  text=$(same "$name.local" "$name.again" 0 0)
  row "$name local = local, bits" $? "$text"
  [ "$ranks" -gt 1 ] || continue
  # Processes that share a GPU take turns of milliseconds: few steps do.
  train few cuda 3
  start_job 29777 "$ranks" "$results/$name.nccl" "$program/cuda" "${data[@]}" --train-iters 3 \
    --metrics "$results/$name.nccl.jsonl"
  wait_job
  row "$name nccl" $? "$(cat "$results/$name".nccl.*.log | grep -E 'error|^done' | head -1)"
  text=$(same "$name.few" "$name.nccl" 1e-5 1e-4)
  row "$name nccl = local" $? "$text"
  [ -n "${failures_done:-}" ] || . "$here/failures.sh"
done
exit $failed
