#!/usr/bin/env bash
# Has a program the same bits in every run? Runs what it finds on a machine with a GPU, and prints a table. It builds nothing.
#   bits.sh FOLDER [STEPS]
# FOLDER/*.train: programs compiled with --deterministic-mode; FOLDER/tokens.bin. Each runs twice, once with its steps issued one by one
# (LF_GRAPH=0), and once resumed in the middle: losses, norms and the saved weights must be those of the first run.
# Results stay in FOLDER/results. Exit code 1 when a bit differs.
. "$(dirname "$0")/harness.sh"
steps=${2:-20}
rm -rf "$results"
mkdir "$results"
for program in "$folder"/*.train; do
  [ -f "$program" ] || continue
  name=$(basename "$program" .train)
  train() { # RUN OPTIONS...
    local run=$results/$name.$1
    shift
    limited 200 "$program" --data-path "$folder/tokens.bin" --train-iters "$steps" --lr 1e-3 --log-interval "$steps" \
      --save-hf "$run.weights" --metrics "$run.jsonl" "$@" > "$run.log" 2>&1
    local code=$?
    [ $code = 0 ] || { row "$name" $code "exit code $code"; head -c 1000 "$run.log"; }
  }
  judge() { # METRICS-OF-THE-FIRST RUN TEXT
    local text
    text=$(python3 "$here/compare.py" "$1" "$results/$name.$2.jsonl" 0 0 2>&1 &&
      cmp "$results/$name.first.weights/model.safetensors" "$results/$name.$2.weights/model.safetensors" 2>&1)
    row "$name, $3" $? "$text"
  }
  train first --save "$results/$name.save" --save-interval $((steps / 2))
  train second
  judge "$results/$name.first.jsonl" second "two runs"
  LF_GRAPH=0 train plain
  judge "$results/$name.first.jsonl" plain "without a graph"
  echo $((steps / 2)) > "$results/$name.save/latest_checkpointed_iteration.txt"
  train resumed --load "$results/$name.save"
  tail -n $((steps - steps / 2)) "$results/$name.first.jsonl" > "$results/$name.half.jsonl"
  judge "$results/$name.half.jsonl" resumed "resumed in the middle"
done
finish
