# What must fail, for run.sh: with the right exit code, and words that tell the cause. Uses the program at hand.
failures_done=1

expect() { # NAME CODE-WANTED CODE-GOT PATTERN LOGS...
  local name=$1 want=$2 got=$3 pattern=$4 code=0 text
  shift 4
  text=$(cat "$@" | grep -m1 -E -- "$pattern")
  [ "$want" = "$got" ] && [ -n "$text" ] || code=1
  row "$name" $code "exit code $got${text:+: ${text:0:150}}"
  [ $code = 0 ] || head -c 600 "$@"
}

long=("$program/cuda" "${data[@]}" --train-iters 100000)
log=$results/failure

CUDA_VISIBLE_DEVICES= limited 60 "${long[@]}" > "$log.none.log" 2>&1
expect "no device" 2 $? 'expected an NVIDIA GPU .* got none' "$log.none.log"

world=$((ranks + 1)) RANK=0 WORLD_SIZE=$((ranks + 1)) limited 60 "${long[@]}" > "$log.world.log" 2>&1
expect "another world" 2 $? "expected a launcher to start $ranks ranks" "$log.world.log"

LF_TIMEOUT_SECONDS=6 world=$ranks start_job 29801 $((ranks - 1)) "$log.missing" "${long[@]}"
wait_job
expect "a rank that never starts" 5 $? "expected rank $((ranks - 1)) to arrive within" "$log".missing.*.log

limited 60 "$folder/small/too-big" --data-path "$folder/small/tokens.bin" > "$log.memory.log" 2>&1
expect "too little memory" 3 $? 'expected [0-9]+ MiB free on GPU 0 for 1 rank, got [0-9]+ MiB; pipeline rank 0 has parameters [0-9]+ MiB, .* the plan:' "$log.memory.log"

# The last rank is not started; the others are told to stop while they wait for it.
world=$ranks start_job 29803 $((ranks - 1)) "$log.stopped" "${long[@]}"
sleep 8
begin=$SECONDS
for pid in "${pids[@]}"; do kill -TERM "$pid"; done # timeout hands it on
wait_job
cat "$log".stopped.*.log > "$log.stopped.log"
expect "SIGTERM while a rank is awaited" 75 "${codes[0]}" "got SIGTERM; the job ends before its first step" "$log.stopped.log"
row "it ends at once" $((SECONDS - begin > 10)) "after $((SECONDS - begin)) s"

begin=$SECONDS
start_job 29804 "$ranks" "$log.nodata" bash -c '[ "$RANK" != 0 ] || set -- --data-path nothing.bin; exec "$0" "$@"' "${long[@]}"
wait_job
expect "rank 0 lacks its data" 4 "${codes[0]}" '"nothing.bin": expected a readable file' "$log.nodata.0.log"
for ((r = 1; r < ranks; ++r)); do
  expect "rank 0 lacks its data: rank $r" 4 "${codes[$r]}" 'rank 0 failed: --data-path: "nothing.bin"' "$log.nodata.$r.log"
done
row "all ranks end" $((SECONDS - begin > 30)) "after $((SECONDS - begin)) s"

start_job 29802 "$ranks" "$log.killed" "${long[@]}"
sleep 15
victim=$(pgrep -P "${pids[1]}") && kill -9 "$victim"
row "a rank is killed" $? "process ${victim:-none}"
begin=$SECONDS
wait_job
for ((r = 0; r < ranks; ++r)); do
  [ $r = 1 ] || expect "rank 1 is killed: rank $r" 5 "${codes[$r]}" 'rank 1 failed: its process ended without a word' "$log.killed.$r.log"
done
row "all others stop" $((SECONDS - begin > 30)) "after $((SECONDS - begin)) s"
