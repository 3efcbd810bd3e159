# What the scripts here begin and end with. `folder`: their first argument; output of programs goes to `results` in it.
set -u
folder=$(cd "${1:?the folder with what to run}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
results=$folder/results
mkdir -p "$results"

# A table with a line for each thing that was tried; `failed` is 1 once one has failed.
failed=0 rows=0
row() { # NAME CODE TEXT
  local mark=ok
  [ "$2" = 0 ] || { mark=FAILED; failed=1; }
  ((++rows))
  printf '%-36s %-7s %s\n' "$1" "$mark" "${3:0:200}"
}

# The end of a script: one that found nothing to try has not passed.
finish() {
  [ $rows -gt 0 ] || { echo "expected something to try, found nothing"; failed=1; }
  exit $failed
}

# A command with a time limit. One that is asked to stop may wait for other ranks first: it is killed soon after.
limited() { # SECONDS COMMAND...
  timeout -k 10 "$@"
}

# How long a rank waits for another: less than the limits here.
export LF_TIMEOUT_SECONDS=${LF_TIMEOUT_SECONDS:-60}
