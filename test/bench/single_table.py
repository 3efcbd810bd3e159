"""Prints the table of single.sh: single_table.py FOLDER. Exit code 1: one of our runs failed."""
import json
import os
import re
import statistics
import sys

COUNTED = 12  # steps, the last ones
PEAK, SUSTAINED = 989e12, 700e12  # dense bf16 flop/s of an H200: by its datasheet, and of its long runs of products
COPY = 4.3e12  # bytes/s, read and written, of a copy on the device
# What AdamW moves for a parameter: reads the float32 gradient, reads and writes master and both moments, writes bfloat16.
ADAMW_BYTES = 4 + 4 * 6 + 2

folder = sys.argv[1]
plan = json.load(open(f"{folder}/lf/plan.json"))


def text(name):
    path = f"{folder}/results/{name}"
    return open(path).read() if os.path.exists(path) else ""


def rate(name, tokens, note=""):
    print(f"  {name:<22} {tokens:>10,.0f} tokens/s {1e3 * plan['tokens_per_step'] / tokens:>9.2f} ms  {note}")


def peer_rate():
    found = []
    for line in text("peer.out").splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            found += [record[key] for key in ("tokens_s", "tokens_per_second") if key in record]
    return max(found, default=None)


m = plan["model"]
print(f"{m['family']}, {m['layers']} layers, hidden {m['hidden']}: {plan['tokens_per_step']:,} tokens a step, {m['parameters']:,} parameters")
peer = peer_rate()
failed = False
for name, title in (("lf", "lf"), ("deterministic", "lf --deterministic-mode"), ("again", "lf again")):
    steps = [json.loads(line) for line in text(f"{name}.jsonl").splitlines()]
    if text(f"{name}.code").strip() != "0" or len(steps) <= COUNTED:
        failed = True
        print(f"  {title}: exit code {text(f'{name}.code').strip()}, {len(steps)} steps: {text(f'{name}.log').strip()[-400:]}")
        continue
    tokens = plan["tokens_per_step"] / statistics.median(s["step_ms"] for s in steps[-COUNTED:]) * 1e3
    rate(title, tokens, f"{tokens / peer:.3f} x the peer" if peer else "")
if peer:
    rate("peer", peer)
elif text("peer.code"):
    print(f"  peer: exit code {text('peer.code').strip()}: {text('peer.out').strip()[-400:]}")
for line in re.findall(r"^memory of GPU.*$", text("lf.log"), re.M):
    print("  " + line)

# The floor: the model's own work at the rate of products, then the optimizer.
flops = plan["tokens_per_step"] * plan["flops_per_token"]
moved = ADAMW_BYTES * m["parameters"]
adamw = moved / COPY
print(f"floor: {flops / 1e12:.1f} Tflop a step ({plan['tokens_per_step']:,} tokens x {plan['flops_per_token'] / 1e9:.3f} Gflop of the plan); "
      f"AdamW {moved / 1e9:.1f} GB ({m['parameters']:,} parameters x {ADAMW_BYTES} bytes)")
for name, speed in (("peak", PEAK), ("sustained", SUSTAINED)):
    seconds = flops / speed + adamw
    rate(f"floor, {name}", plan["tokens_per_step"] / seconds,
         f"{1e3 * flops / speed:.1f} ms at {speed / 1e12:.0f} Tflop/s + {1e3 * adamw:.1f} ms at {COPY / 1e12:.1f} TB/s")
sys.exit(failed)
