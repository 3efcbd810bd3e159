"""Trains two steps of a plan and compares plan.json with what the ranks used: planned_used.py WORK MODEL PLAN...

Bytes of memory of every rank, and bytes sent by axis and kind, summed over ranks: equal to the byte.
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
subprocess.run(["lf-compile", model, "--seq-length", "32", *plan, "--plan-out", f"{work}/plan.json", "-o", f"{work}/train"], check=True)
subprocess.run([f"{work}/train", "--data-path", f"{work}/tokens.bin", "--train-iters", "2", "--metrics", f"{work}/metrics.jsonl"], check=True,
               stdout=subprocess.DEVNULL)
planned = json.load(open(f"{work}/plan.json"))
steps = [json.loads(line) for line in open(f"{work}/metrics.jsonl")]
memory = [rank["peak"] for rank in sorted(planned["memory"], key=lambda rank: rank["rank"])]
traffic = collections.Counter()
for row in planned["traffic"]:
    traffic[row["axis"], row["kind"]] += row["bytes"]
for step in steps:
    if memory != step["peak_bytes"]:
        sys.exit(f"step {step['step']}: expected peak bytes as planned {memory}, got {step['peak_bytes']}")
    used = collections.Counter({(axis, kind): count for axis, kinds in step["comm_bytes"].items() for kind, count in kinds.items()})
    if +traffic != +used:
        sys.exit(f"step {step['step']}: expected traffic as planned {dict(traffic)}, got {dict(used)}")
print(f"{len(memory)} ranks, {sum(memory)} bytes of memory, {sum(traffic.values())} bytes sent: as planned")
