# The table that the scripts here print: a line for each thing that was tried; `failed` is 1 once one has failed.
failed=0
row() { # NAME CODE TEXT
  local mark=ok
  [ "$2" = 0 ] || { mark=FAILED; failed=1; }
  printf '%-36s %-7s %s\n' "$1" "$mark" "${3:0:200}"
}
