# What pack and multi-pack share. `golden`: the program that compares a run with a reference case; `cases`: the folder of those cases;
# `build`: the build folder; `out`: the folder that is packed.

# Compiles a case under a plan for golden.sh.
reference() { # CASE NAME RANKS FLAGS...
  local case=$1 name=$2 ranks=$3
  shift 3
  [ -d "$out/golden/cases/$case" ] || cp -r "$cases/$case" "$out/golden/cases/"
  "$golden" "$cases/$case" --build "$build" --target cuda --compile-only "$out/golden/exe/$case.$name.$ranks" -- "$@" > "$out/log" ||
    { cat "$out/log"; exit 1; }
}
