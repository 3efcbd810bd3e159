#!/usr/bin/env bash
# Is a bfloat16 run as good as a float32 run? Trains the programs of a folder on the same data, and compares the loss of each
# step after the 20th with that of float32. It builds nothing.
#   precision.sh FOLDER
# FOLDER/fp32: the program to compare with; FOLDER/bf16.*: those to be judged; FOLDER/tokens.bin: text. Exit code 1 when a loss is
# more than 1 % away. In the environment: LF_STEPS (200), LF_RATE (5e-5), LF_SEEDS ("1234 1"): of weights and data order.
. "$(dirname "$0")/harness.sh"
steps=${LF_STEPS:-200} rate=${LF_RATE:-5e-5}
least=$(awk "BEGIN { print $rate / 10 }")
for seed in ${LF_SEEDS:-1234 1}; do
  for program in "$folder"/fp32 "$folder"/bf16.*; do
    name=$(basename "$program")
    run=$results/$name.$rate.$seed
    rm -f "$run.jsonl"
    LF_LOCAL=1 limited 300 "$program" --data-path "$folder/tokens.bin" --train-iters "$steps" --lr "$rate" --min-lr "$least" \
      --lr-warmup-iters 40 --lr-decay-style cosine --log-interval 50 --seed "$seed" --metrics "$run.jsonl" > "$run.log" 2>&1
    code=$?
    [ $code = 0 ] || { row "$name, rate $rate, seed $seed" $code "exit code $code"; head -c 1500 "$run.log"; }
    [ "$name" != fp32 ] || continue
    text=$(python3 "$here/precision_distance.py" "$results/fp32.$rate.$seed.jsonl" "$run.jsonl" "$steps" 2>&1)
    row "$name, rate $rate, seed $seed" $? "$text"
  done
done
finish
