#!/usr/bin/env bash
# Runs everything it finds on a machine with a GPU, and prints a table. It builds nothing.
#   run.sh FOLDER [STEPS]
# FOLDER/lf-device-conformance: kernels and the local transport against references.
# FOLDER/programs/NAME/{cuda,cpu,ranks,tokens.bin}: one emitted program linked with each runtime, its number of ranks, its
# data. cuda must train as cpu does (local, and nccl with a process for each rank), and twice with the same bits.
# The results, and the logs of what failed, stay in FOLDER/results. Exit code 1 when anything failed.
set -u
folder=$(cd "${1:?the folder with what to run}" && pwd)
steps=${2:-20}
here=$(cd "$(dirname "$0")" && pwd)
results=$folder/results
mkdir -p "$results"
failed=0

row() { # NAME CODE TEXT
  local mark=ok
  [ "$2" = 0 ] || { mark=FAILED; failed=1; }
  printf '%-34s %-7s %s\n' "$1" "$mark" "$3"
}

# Runs a command of a name with a time limit; its output goes to results/NAME.log.
try() { # NAME SECONDS COMMAND...
  local name=$1 limit=$2
  shift 2
  timeout "$limit" "$@" > "$results/$name.log" 2>&1
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2> /dev/null

if [ -x "$folder/lf-device-conformance" ]; then
  try conformance 300 "$folder/lf-device-conformance"
  code=$?
  row conformance $code "$(grep -E 'PASSED|FAILED TEST|error' "$results/conformance.log" | head -1) $(grep -o 'LF_TEST_SEED=[0-9]*' "$results/conformance.log")"
  [ $code = 0 ] || grep -E -A4 'Failure|FAILED' "$results/conformance.log" | head -60
  if sanitizer=$(command -v compute-sanitizer) && [ "${LF_SANITIZE:-1}" = 1 ]; then
    for tool in memcheck racecheck; do
      try "sanitizer-$tool" 240 "$sanitizer" --tool $tool --error-exitcode 9 "$folder/lf-device-conformance" \
        --gtest_filter='Norm*:Attention.Forward*:Embedding*:CrossEntropy*:Rope*'
      row "compute-sanitizer $tool" $? "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|error' "$results/sanitizer-$tool.log" | tail -1)"
    done
  fi
fi

for program in "$folder"/programs/*/; do
  [ -x "$program/cuda" ] || continue
  name=$(basename "$program")
  ranks=$(cat "$program/ranks")
  flags=(--data-path "$program/tokens.bin" --train-iters "$steps" --lr 1e-3 --log-interval 1000)
  rm -f "$results/$name".*.jsonl
  if [ -x "$program/cpu" ]; then
    try "$name.cpu" 300 "$program/cpu" "${flags[@]}" --metrics "$results/$name.cpu.jsonl"
    row "$name on the cpu" $? "$(tail -1 "$results/$name.cpu.log")"
  fi
  for run in local again; do
    try "$name.$run" 300 "$program/cuda" "${flags[@]}" --metrics "$results/$name.$run.jsonl"
    code=$?
    [ $code = 0 ] || { row "$name $run" $code "$(grep -m1 error "$results/$name.$run.log")"; continue; }
    [ $run = local ] && against=cpu bounds="1e-4 1e-3" || against=local bounds="0 0"
    [ -f "$results/$name.$against.jsonl" ] || { row "$name $run" 0 "ran; nothing to compare with"; continue; }
    text=$(python3 "$here/compare.py" "$results/$name.$against.jsonl" "$results/$name.$run.jsonl" $bounds 2>&1)
    row "$name $run = $against" $? "$text"
  done
  [ "$ranks" -gt 1 ] || continue
  # A process for each rank. On one GPU NCCL takes them for one host's, and refuses, unless told otherwise.
  pids=()
  for ((r = 0; r < ranks; ++r)); do
    RANK=$r WORLD_SIZE=$ranks LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=29777 NCCL_HOSTID=lf-$r NCCL_IB_DISABLE=1 \
      NCCL_SOCKET_IFNAME=lo timeout 300 "$program/cuda" "${flags[@]}" --metrics "$results/$name.nccl.jsonl" \
      > "$results/$name.nccl.$r.log" 2>&1 &
    pids+=($!)
  done
  code=0
  for pid in "${pids[@]}"; do
    wait "$pid" || code=$?
  done
  if [ $code != 0 ]; then
    row "$name nccl" $code "$(cat "$results/$name".nccl.*.log | grep -m1 error)"
    continue
  fi
  text=$(python3 "$here/compare.py" "$results/$name.local.jsonl" "$results/$name.nccl.jsonl" 1e-5 1e-4 2>&1)
  row "$name nccl = local" $? "$text"
done
exit $failed
