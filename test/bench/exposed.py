#!/usr/bin/env python3
"""How long ranks waited for communication, from the file of --trace: exposed.py TRACE [STEPS [SKIPPED]]

STEPS: of the run; SKIPPED: the first ones, which make connections and buffers and are left out.

A message counts as exposed while its slice runs: the compute stream waits for it from issue to arrival (a receive that was
posted ahead has a slice of its wait alone). Prints, for each rank, ms a step in communication by group and kind (overlaps
counted once in the total) and its share of the time traced."""
import collections
import json
import sys


def union(spans):
    total, end = 0.0, float("-inf")
    for a, b in sorted(spans):
        total += max(0.0, b - max(a, end))
        end = max(end, b)
    return total


def main():
    events = json.load(open(sys.argv[1]))["traceEvents"]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    skipped = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    messages, passes = collections.defaultdict(list), collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            (messages if e["tid"] % 2 else passes)[e["pid"] - 1].append(e)
    for rank in sorted(passes):
        begin = min(e["ts"] for e in passes[rank])
        if skipped:
            begins = sorted(e["ts"] for e in passes[rank] if e["name"].startswith("begin_step"))
            if len(begins) != steps:
                sys.exit(f"{sys.argv[1]}: expected begin_step of rank {rank} {steps} times, got {len(begins)}")
            begin = begins[skipped]
        whole = max(e["ts"] + e["dur"] for e in passes[rank] + messages[rank]) - begin
        kinds = collections.defaultdict(list)
        for e in messages[rank]:
            if e["ts"] >= begin and not e["name"].startswith("post "):
                kinds[("pp" if e["cat"] == "message" else e["cat"]) + " " + e["name"].split(" ")[0]].append((e["ts"], e["ts"] + e["dur"]))
        total = union([span for spans in kinds.values() for span in spans])
        parts = ", ".join(f"{kind} {union(spans) / 1e3 / (steps - skipped):.2f}" for kind, spans in sorted(kinds.items()))
        print(f"rank {rank}: {total / 1e3 / (steps - skipped):.2f} ms a step exposed, {total / whole:.1%} of the time ({parts})")


if __name__ == "__main__":
    main()
