#!/usr/bin/env bash
# Measures on a machine with N GPUs what parallel-pack made, beside PyTorch in the same run, and prints a table. It builds nothing.
#   parallel.sh FOLDER
# Rows: dp, tp-sp, pp, pp-vpp; each runs our executable, then the PyTorch variants of the row, one after the other, 12 steps each,
# the last 8 of which count; and ours once more for 4 steps with --trace, for the time that ranks wait for messages. Results stay in
# FOLDER/results. Exit code 1 when one of ours failed, with --trace or without, or sent other bytes than planned, or PyTorch's variants
# disagree about the first loss, or when the memory of a GPU is not reported or farther than 3 % from the plan. A variant of PyTorch that
# fails is a line of the table.
# LF_ROWS="dp pp": those rows. LF_LIBRARY_PATH: what our executables load besides the system's libraries; PyTorch brings its own and
# must not see it. LF_LIMIT (120): seconds that a run may take. TORCH_OPTIONS: more options for torch_parallel.py. LF_PEERS="*-block": those of PyTorch's
# variants; LF_PEERS=none: ours alone.
set -u
folder=$(cd "${1:?the folder that parallel-pack made}" && pwd)
limit=${LF_LIMIT:-120}
results=$folder/results
read -r -a rows <<< "${LF_ROWS-dp tp-sp pp pp-vpp}"
[ ${#rows[@]} -gt 0 ] || { echo "LF_ROWS: expected some of dp, tp-sp, pp, pp-vpp, got none"; exit 1; }
for row in "${rows[@]}"; do
  [ -x "$folder/$row/train" ] || { echo "LF_ROWS: expected some of dp, tp-sp, pp, pp-vpp, got $row"; exit 1; }
done
mkdir -p "$results"
# Memory that is shared by multicast is not to be relied on here.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 OMP_NUM_THREADS=8
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null

number() { # of a JSON file: FILE MEMBER MEMBER
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]][sys.argv[3]])' "$@"
}
python3 "$folder/random_tokens.py" "$(number "$folder/dp/plan.json" model vocab)" 2000000 "$folder/tokens.bin" || exit 1

train() { # ROW STEPS OPTIONS...
  local row=$1 steps=$2
  shift 2
  LD_LIBRARY_PATH=${LF_LIBRARY_PATH:+$LF_LIBRARY_PATH:}${LD_LIBRARY_PATH:-} LF_TIMEOUT_SECONDS=60 timeout -k 10 "$limit" \
    "$folder/$row/train" --data-path "$folder/tokens.bin" --train-iters "$steps" --lr 1e-4 --lr-decay-style constant \
    --log-interval "$steps" "$@"
}

ours() { # ROW
  local row=$1
  train "$row" 12 --metrics "$results/$row.jsonl" > "$results/$row.log" 2>&1
  echo $? > "$results/$row.code"
  train "$row" 4 --trace "$results/$row.trace.json" > "$results/$row.trace.log" 2>&1 &&
    python3 "$folder/exposed.py" "$results/$row.trace.json" 4 2 > "$results/$row.exposed" 2>> "$results/$row.trace.log"
  echo $? > "$results/$row.trace.code"
}

peer() { # ROW NAME OPTIONS...
  local row=$1 name=$2
  shift 2
  # shellcheck disable=SC2053 # a pattern
  [[ $name == ${LF_PEERS:-*} ]] || return 0
  local base=$results/$row.torch-$name
  # shellcheck disable=SC2046,SC2086 # options are words
  timeout -k 10 "$limit" python3 -m torch.distributed.run --nproc-per-node "$(number "$folder/$row/plan.json" sizes world)" \
    --master-addr 127.0.0.1 --master-port $((29620 + RANDOM % 300)) "$folder/torch_parallel.py" $(cat "$folder/$row/torch") \
    --limit $((limit - 10)) "$@" ${TORCH_OPTIONS:-} > "$base.log" 2>&1
  local code=$?
  grep '^{' "$base.log" > "$base.jsonl" ||
    printf '{"error": "exit code %d; the end of %s says why"}\n' $code "$(basename "$base.log")" > "$base.jsonl"
}

rm -f "$results"/*
for row in "${rows[@]}"; do
  ours "$row"
  case $row in
    dp)
      peer dp ddp --mode ddp
      peer dp ddp-block --mode ddp --compile block
      peer dp ddp-master-block --mode ddp --compile block --precision master
      peer dp fsdp --mode fsdp
      peer dp fsdp-block --mode fsdp --compile block
      ;;
    tp-sp)
      peer tp-sp tp --mode tp
      peer tp-sp tp-block --mode tp --compile block
      ;;
    pp)
      peer pp pp --mode pp
      peer pp pp-block --mode pp --compile block
      ;;
    pp-vpp)
      peer pp-vpp interleaved --mode pp-interleaved
      peer pp-vpp interleaved-block --mode pp-interleaved --compile block
      ;;
  esac
  python3 "$folder/parallel_table.py" "$folder" "$row" || failed=1
done
exit ${failed:-0}
