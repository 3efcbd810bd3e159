"""Trains one step of a plan and compares --plan-trace with --trace: planned_trace.py WORK MODEL PLAN...

Every pass and every message between stages is a slice in both, once, on a track of one name, with the same name, category and
arguments. A run has other slices and arguments beside them.
"""
import collections
import json
import os
import subprocess
import sys

work, model, plan = sys.argv[1], sys.argv[2], sys.argv[3:]
os.makedirs(work, exist_ok=True)
with open(f"{work}/tokens.bin", "wb") as f:
    f.write(b"".join(bytes((i * 7 % 251, 0)) for i in range(20000)))
subprocess.run(["lf-compile", model, "--seq-length", "16", *plan, "--plan-trace", f"{work}/plan.json", "-o", f"{work}/train"], check=True)
subprocess.run([f"{work}/train", "--data-path", f"{work}/tokens.bin", "--train-iters", "1", "--trace", f"{work}/run.json"], check=True,
               stdout=subprocess.DEVNULL)


def slices(path):
    """(track, slice, category, arguments) of the first process that has the track, and how often."""
    events = json.load(open(path))["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    first = {}
    for (pid, _), track in sorted(tracks.items()):
        first.setdefault(track, pid)
    found = collections.Counter()
    for e in events:
        if e["ph"] != "X" or e["cat"] not in ("F", "B", "W", "message"):
            continue
        track = tracks[e["pid"], e["tid"]]
        if first[track] == e["pid"]:
            found[track, e["name"], e["cat"], *(e["args"][name] for name in ("micro_batch", "chunk", "stage"))] += 1
    return found, sorted(first)


(planned, planned_tracks), (run, run_tracks) = slices(f"{work}/plan.json"), slices(f"{work}/run.json")
if planned_tracks != run_tracks:
    sys.exit(f"expected the tracks {planned_tracks} as planned, got {run_tracks}")
if planned != run:
    sys.exit(f"expected the planned slices, got {sorted((run - planned).items())[:9]} more and {sorted((planned - run).items())[:9]} fewer")
passes = sum(n for key, n in run.items() if key[2] != "message")
print(f"{passes} passes, {run.total() - passes} sends, receives and posts: as planned")
