#!/usr/bin/env bash
# From nothing to a falling loss: installs, builds, and trains a small Llama on English text (the licence texts that every
# Debian system carries) with 8 ranks as threads: data x tensor x pipeline parallel, each of size 2, with sequence
# parallelism. Plan flags on the command line replace these: tools/quickstart.sh --dp 2 --tp 4 --sequence-parallel
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${LF_BUILD:-$root/build}
"$root/tools/setup.sh"
"$root/tools/build.sh"

work=$build/quickstart
mkdir -p "$work"
cp "$root/test/models/quickstart.json" "$work/config.json"
python3 "$root/tools/byte_tokens.py" "$work/train.bin" "$work/held-out.txt" /usr/share/common-licenses/*

plan=("$@")
[ ${#plan[@]} -gt 0 ] || plan=(--dp 2 --tp 2 --pp 2 --sequence-parallel)
plan+=(--seq-length 128 --micro-batch-size 4 --global-batch-size 16)
echo "+ lf-compile config.json ${plan[*]} -o train"
"$build/bin/lf-compile" "$work/config.json" "${plan[@]}" -o "$work/train"
"$work/train" --describe
"$work/train" --data-path "$work/train.bin" --train-iters 160 --lr 3e-3 --min-lr 3e-4 --lr-warmup-iters 10 \
  --lr-decay-style cosine --log-interval 20 --metrics "$work/metrics.jsonl"
python3 "$root/tools/byte_tokens.py" --judge "$work/metrics.jsonl" "$work/held-out.txt" "$work/train.bin"
