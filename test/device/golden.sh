#!/usr/bin/env bash
# Runs executables of reference cases on a machine with a GPU, and prints a table. It builds nothing.
#   golden.sh FOLDER
# FOLDER/golden: the program that compares a run with its reference. FOLDER/cases/CASE: the cases. FOLDER/exe/CASE.PLAN.RANKS:
# what `golden --compile-only` made of a case under a plan (the name is free) of so many ranks. Each runs with its ranks as
# threads, and each of more than one rank as processes too, by NCCL. LF_ONLY: a pattern of names; LF_NCCL=0: threads alone.
# Exit code 1 when one differs.
set -u
folder=$(cd "${1:?the folder with what to run}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
failed=0
tolerances=(--loss-rtol 1e-4 --norm-rtol 1e-3 --grad-rtol 1e-3 --weight-rtol 1e-3)
for exe in "$folder"/exe/*; do
  IFS=. read -r case plan ranks <<< "$(basename "$exe")"
  [[ "$case.$plan" == ${LF_ONLY:-*} ]] || continue
  for transport in local nccl; do
    launch=()
    if [ $transport = nccl ]; then
      [ "$ranks" -gt 1 ] && [ "${LF_NCCL:-1}" = 1 ] || continue
      launch=(--launch "$here/ranks $ranks")
    fi
    text=$(LF_LOCAL=1 timeout "${LF_LIMIT:-120}" python3 "$folder/golden" "$folder/cases/$case" --target cuda --exe "$exe" \
      "${launch[@]}" "${tolerances[@]}" -- 2>&1)
    code=$?
    [ $code = 0 ] || failed=1
    printf '%-14s %-22s %-6s %s\n' "$case" "$plan" "$transport" "$(tail -1 <<< "$text" | sed 's/ plan \[\]//' | cut -c1-150)"
    [ $code = 0 ] || head -c 1500 <<< "$text"
  done
done
exit $failed
