#!/usr/bin/env bash
# Measures on a machine with one GPU what single-pack made, beside another program in the same run, and prints a table. It builds
# nothing.
#   single.sh FOLDER
# Runs lf, the peer, lf --deterministic-mode, and lf again, which shows how far the clock of the card has drifted: 16 steps each,
# the last 12 of which count. PEER ("python3 train_peer.py"): a command, run in FOLDER/peers, that prints JSON lines with
# "tokens_s" or "tokens_per_second" in them; the fastest counts. Results stay in FOLDER/results. Exit code 1 when one of ours failed.
# LF_LIBRARY_PATH: what our executables load besides the system's libraries; the peer does not see it. LF_LIMIT (120): seconds that a
# run may take.
set -u
folder=$(cd "${1:?the folder that single-pack made}" && pwd)
limit=${LF_LIMIT:-120}
results=$folder/results
mkdir -p "$results"
rm -f "$results"/*
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null

vocab=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["vocab_size"])' "$folder/config.json")
python3 "$folder/random_tokens.py" "$vocab" 1000000 "$folder/tokens.bin" || exit 1

ours() { # NAME PROGRAM
  LD_LIBRARY_PATH=${LF_LIBRARY_PATH:+$LF_LIBRARY_PATH:}${LD_LIBRARY_PATH:-} timeout -k 10 "$limit" "$folder/$2/train" \
    --data-path "$folder/tokens.bin" --train-iters 16 --lr 1e-4 --lr-decay-style constant --log-interval 16 \
    --metrics "$results/$1.jsonl" > "$results/$1.log" 2>&1
  echo $? > "$results/$1.code"
}

ours lf lf
if [ -d "$folder/peers" ]; then
  (cd "$folder/peers" && timeout -k 10 "$limit" ${PEER:-python3 train_peer.py}) > "$results/peer.out" 2>&1
  echo $? > "$results/peer.code"
fi
ours deterministic deterministic
ours again lf
python3 "$folder/single_table.py" "$folder"
