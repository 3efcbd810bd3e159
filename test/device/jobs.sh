# Jobs of one process for each rank, for run.sh: torchrun's environment without torchrun.

# Processes that share a GPU look like ranks of one host with one GPU, which NCCL refuses: each gets a host of its own.
start_job() { # PORT RANKS LOG-PREFIX COMMAND...
  local port=$1 ranks=$2 log=$3 r
  shift 3
  pids=()
  for ((r = 0; r < ranks; ++r)); do
    RANK=$r WORLD_SIZE=${world:-$ranks} LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=$port NCCL_HOSTID=lf-$r \
      NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo timeout "${limit:-240}" "$@" > "$log.$r.log" 2>&1 &
    pids+=($!)
  done
}

# The largest exit code.
wait_job() {
  local pid worst=0 code
  for pid in "${pids[@]}"; do
    wait "$pid"
    code=$?
    [ $code -gt $worst ] && worst=$code
  done
  return $worst
}
