#!/usr/bin/env bash
# Runs programs of several ranks on a machine with a GPU, and prints a table. It builds nothing.
#   run.sh FOLDER
# FOLDER/programs/NAME/{cuda,cpu.jsonl,ranks,tokens.bin}: an emitted program, the metrics of the same for --target cpu (--lr 1e-3), its
# number of ranks, its data. It must train as on the cpu (threads, and a process for each rank with NCCL), twice with the same bits, and
# fail as it should (failures.sh). Logs and metrics stay in FOLDER/results. Exit code 1 when anything failed. LF_ONLY=NAME: that
# program alone.
. "$(dirname "$0")/harness.sh"
. "$here/jobs.sh"
trap 'kill $(jobs -p) 2> /dev/null' EXIT # nothing of a run that was cut short stays on the GPU

same() { # A.jsonl B.jsonl LOSS-RTOL NORM-RTOL
  python3 "$here/compare.py" "$@" 2>&1
}

for program in "$folder"/programs/*/; do
  name=$(basename "$program")
  [ -d "$program" ] && [ "${LF_ONLY:-$name}" = "$name" ] || continue
  ranks=$(cat "$program/ranks")
  data=(--data-path "$program/tokens.bin" --lr 1e-3 --log-interval 1000)
  mine=$results/$name
  rm -f "$mine".*
  train() { # RUN STEPS
    LF_LOCAL=1 limited 300 "$program/cuda" "${data[@]}" --train-iters "$2" --metrics "$mine.$1.jsonl" > "$mine.$1.log" 2>&1
  }
  steps=$(wc -l < "$program/cpu.jsonl")
  train local "$steps"
  row "$name local" $? "$(grep -E 'error|^done' "$mine.local.log" | head -1)"
  text=$(same "$program/cpu.jsonl" "$mine.local.jsonl" 1e-4 1e-3)
  row "$name local = cpu" $? "$text"
  train again "$steps" &&
    text=$(same "$mine.local.jsonl" "$mine.again.jsonl" 0 0)
  row "$name local = local, bits" $? "$text"
  [ "$ranks" -gt 1 ] || continue
  # Processes that share a GPU take turns of milliseconds: few steps do.
  train few 3
  row "$name local, few steps" $? "$(grep -E 'error|^done' "$mine.few.log" | head -1)"
  start_job 29777 "$ranks" "$mine.nccl" "$program/cuda" "${data[@]}" --train-iters 3 --metrics "$mine.nccl.jsonl"
  wait_job
  row "$name nccl" $? "$(cat "$mine".nccl.*.log | grep -E 'error|^done' | head -1)"
  text=$(same "$mine.few.jsonl" "$mine.nccl.jsonl" 1e-5 1e-4)
  row "$name nccl = local" $? "$text"
  [ -n "${failures_done:-}" ] || . "$here/failures.sh"
done
finish
