#!/usr/bin/env bash
# Is a bfloat16 run as good as a float32 run? Trains the programs of a folder on the same data, and compares the loss of each
# step after the 20th with that of float32. It builds nothing.
#   precision.sh FOLDER [STEPS]
# FOLDER/fp32: the program to compare with; FOLDER/bf16.*: those to be judged; FOLDER/tokens.bin: text. Exit code 1 when a loss is
# more than 1 % away.
set -u
folder=$(cd "${1:?the folder with what to run}" && pwd)
steps=${2:-200}
results=$folder/results
mkdir -p "$results"
train() {
  timeout 300 env LF_LOCAL=1 "$folder/$1" --data-path "$folder/tokens.bin" --train-iters "$steps" --lr 1e-4 --min-lr 1e-5 \
    --lr-warmup-iters 40 --lr-decay-style cosine --log-interval 50 --metrics "$results/$1.jsonl" > "$results/$1.log" 2>&1
  code=$?
  [ $code = 0 ] || { echo "$1: exit code $code"; head -c 1500 "$results/$1.log"; }
}
train fp32
tail -2 "$results/fp32.log"
failed=0
for program in "$folder"/bf16.*; do
  name=$(basename "$program")
  train "$name"
  python3 - "$results/fp32.jsonl" "$results/$name.jsonl" "$name" "$steps" << 'END' || failed=1
import json, sys
a, b = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
steps = int(sys.argv[4])
if len(a) != steps or len(b) != steps:
    sys.exit(f"{sys.argv[3]}: expected {steps} steps of both, got {len(a)} and {len(b)}")
worst, at = max((abs(x["loss"] - y["loss"]) / x["loss"], x["step"]) for x, y in zip(a[20:], b[20:]))
ms = sorted(y["step_ms"] for y in b[5:])[len(b[5:]) // 2]
print(f"{sys.argv[3]:14} loss {b[0]['loss']:.4f} -> {b[-1]['loss']:.4f} (fp32 {a[-1]['loss']:.4f}); farthest from fp32 after the "
      f"20th step: {worst:.2%} at step {at}; {ms:.1f} ms a step")
sys.exit(worst > 0.01)
END
done
exit $failed
