"""Runs every pass on every snippet of malformed IR: it may refuse, it must not crash.

Usage: malformed.py FILE...
Snippets are separated by "// -----". The first line of each, "// PASSES: MESSAGE", says which passes (with commas; "parse"
for none) must refuse it, with exit code 1 and an error that contains MESSAGE.
"""
import subprocess
import sys

OPTIONS = {"annotate": "dp=2 tp=2", "assign-stages": "pp=2", "build-schedule": "micro-batches=2"}
PASSES = ["differentiate", "expand-cross-entropy", "annotate", "propagate", "partition", "verify-partitioned",
          "assign-stages", "build-schedule", "verify-schedule"]


def flag(name):
    return f"--lf-{name}={OPTIONS[name]}" if name in OPTIONS else f"--lf-{name}"


def run(passes, text):
    """Exit code and what was printed; a code of -1 for a crash, and for a refusal without an error."""
    command = ["lf-opt", "--allow-unregistered-dialect", "--split-input-file"] + [flag(name) for name in passes]
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    if result.returncode not in (0, 1) or (result.returncode == 1 and "error:" not in result.stderr):
        return -1, f"expected exit code 0, or 1 with an error, got {result.returncode}"
    return result.returncode, result.stderr


def refusal(snippet):
    """What is wrong with how the passes of the header refuse the snippet; empty if nothing is."""
    names, message = snippet.splitlines()[0].removeprefix("// ").split(": ", 1)
    code, text = run([] if names == "parse" else names.split(", "), snippet)
    return "" if code == 1 and message in text else f"{names}: expected \"{message}\", got exit code {code}: {text[:400]}"


def main(paths):
    count, faults = 0, []
    for path in paths:
        with open(path) as file:
            text = file.read()
        snippets = [snippet.strip() + "\n" for snippet in text.split("// -----\n")]
        count += len(snippets)
        for snippet in snippets:
            if fault := refusal(snippet):
                faults.append(f"{snippet}{fault}")
        for name in PASSES:
            if run([name], text)[0] < 0:  # the whole file at once; only a crash needs to be looked for
                faults += [f"{snippet}{name}: {what}" for snippet in snippets for code, what in [run([name], snippet)] if code < 0]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{count} snippets, {len(faults)} faults")
    return 1 if faults or not count else 0


sys.exit(main(sys.argv[1:]))
