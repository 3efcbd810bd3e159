#!/usr/bin/env bash
# Runs executables of reference cases on a machine with GPUs, and prints a table. It builds nothing.
#   golden.sh FOLDER
# FOLDER/golden: the program that compares a run with its reference. FOLDER/cases/CASE: the cases. FOLDER/exe/CASE.PLAN.RANKS:
# what `golden --compile-only` made of a case under a plan (the name is free) of so many ranks. In the environment: LF_HOW, how each is
# started, of those of one rank the first way alone: "local" (threads that share GPUs), "nccl" (a process for each rank; GPUs may
# be shared), "alone" (threads, a GPU each, where there are enough), "torchrun"; by default "local nccl". LF_ONLY: a pattern of
# CASE.PLAN; LF_LIMIT (120): seconds of one. Exit code 1 when one differs.
. "$(dirname "$0")/harness.sh"
tolerances=(--loss-rtol 1e-4 --norm-rtol 1e-3 --grad-rtol 1e-3 --weight-rtol 1e-3)
read -r -a ways <<< "${LF_HOW:-local nccl}"
for how in "${ways[@]}"; do
  [[ $how == @(local|nccl|alone|torchrun) ]] || { echo "LF_HOW: expected local, nccl, alone or torchrun, got $how"; exit 1; }
done
for exe in "$folder"/exe/*; do
  [ -f "$exe" ] || continue
  IFS=. read -r case plan ranks <<< "$(basename "$exe")"
  # shellcheck disable=SC2053 # a pattern
  [[ $case.$plan == ${LF_ONLY:-*} ]] || continue
  for how in "${ways[@]}"; do
    launch=()
    case $how in
      nccl) launch=(--launch "$here/ranks $ranks") ;;
      torchrun) launch=(--launch "torchrun --no-python --nproc-per-node $ranks --master-port 29611") ;;
    esac
    text=$(LF_LOCAL=$([ "$how" = local ] && echo 1 || echo 0) limited "${LF_LIMIT:-120}" python3 "$folder/golden" "$folder/cases/$case" \
      --target cuda --exe "$exe" "${launch[@]}" "${tolerances[@]}" -- 2>&1)
    code=$?
    printf '%-14s %-22s %-8s %s\n' "$case" "$plan" "$how" "$(tail -1 <<< "$text" | sed 's/ plan \[\]//' | cut -c1-150)"
    ((++rows))
    [ $code = 0 ] || { failed=1; head -c 1500 <<< "$text"; }
    [ "$ranks" -gt 1 ] || break
  done
done
finish
