"""The planned peak of the worst rank under 1F1B and each zero-bubble schedule: zero_bubble_memory.py MODEL WORK [lf-compile flags]"""
import json
import subprocess
import sys

model, work, *flags = sys.argv[1:]


def worst(schedule):
    plan = f"{work}.{schedule}.json"
    subprocess.run(["lf-compile", model, *flags, "--pipeline-schedule", schedule, "--fp32", "--dry-run", "--plan-out", plan],
                   check=True, stdout=subprocess.DEVNULL)
    with open(plan) as f:
        return max(json.load(f)["memory"], key=lambda rank: rank["peak"])


base = worst("1f1b")
print(f"1f1b: {base['peak']} on rank {base['rank']}")
for schedule in ("zb-h1", "zb-v"):
    rank = worst(schedule)
    more = {key: rank[key] - base[key] for key in ("parameters", "gradients", "optimizer", "saved", "workspace") if rank[key] != base[key]}
    print(f"{schedule}: {rank['peak']} on rank {rank['rank']}, {rank['peak'] - base['peak']} more than 1f1b", json.dumps(more) if more else "")
