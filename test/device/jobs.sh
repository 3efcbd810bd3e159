# Jobs of one process for each rank, for the scripts here: torchrun's environment without torchrun.

# On fewer GPUs than ranks each process gets a host of its own in NCCL's eyes, which refuses two ranks of one host on one GPU.
start_job() { # PORT RANKS LOG-PREFIX COMMAND...
  local port=$1 ranks=$2 log=$3 r
  shift 3
  pids=()
  for ((r = 0; r < ranks; ++r)); do
    local shared=()
    [ "$(nvidia-smi --list-gpus 2> /dev/null | wc -l)" -ge "$ranks" ] ||
      shared=(NCCL_HOSTID=lf-$r NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo)
    env RANK=$r WORLD_SIZE="${world:-$ranks}" LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" "${shared[@]}" \
      timeout -k 10 "${limit:-240}" "$@" > "$log.$r.log" 2>&1 &
    pids+=($!)
  done
}

# The largest exit code; `codes` has all.
wait_job() {
  local pid worst=0 code
  codes=()
  for pid in "${pids[@]}"; do
    wait "$pid"
    code=$?
    codes+=($code)
    [ $code -gt $worst ] && worst=$code
  done
  return $worst
}
