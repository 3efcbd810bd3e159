"""Prints one row of parallel.sh: parallel_table.py FOLDER ROW. Exit code 1: one of our runs failed, sent other bytes than planned or took
other memory, or PyTorch's variants disagree."""
import glob
import json
import os
import re
import statistics
import sys

COUNTED = 8  # steps, the last ones

folder, row = sys.argv[1], sys.argv[2]
base = f"{folder}/results/{row}"
plan = json.load(open(f"{folder}/{row}/plan.json"))


def lines(path):
    if not os.path.exists(path):
        return []
    return [json.loads(line) for line in open(path)]


def text(path):
    return open(path).read() if os.path.exists(path) else ""


def planned_bytes():
    """What all ranks send in a step, by (axis, kind)."""
    sums = {}
    for entry in plan["traffic"]:
        key = entry["axis"], entry["kind"]
        sums[key] = sums.get(key, 0) + entry["bytes"]
    return sums


def measured_bytes(step):
    return {(axis, kind): count for axis, kinds in step["comm_bytes"].items() for kind, count in kinds.items()}


def rate(name, tokens, ms, note):
    print(f"  {name:<24} {tokens:>12,.0f} tokens/s {ms:>9.1f} ms  {note}")


failed = False
sizes = ", ".join(f"{name} {size}" for name, size in plan["sizes"].items() if size > 1 and name != "world")
print(f"{row}: {sizes}, {plan['micro_batches']} micro-batches of {plan['options'].get('micro-batch-size', 1)} a rank, "
      f"layout {plan['layout']}, {plan['tokens_per_step']:,} tokens a step")

peers = {}
for name in sorted(path[len(f"{base}.torch-"):-len(".jsonl")] for path in glob.glob(f"{base}.torch-*.jsonl")):
    records = lines(f"{base}.torch-{name}.jsonl")
    peers[name] = next((r for r in records if "error" not in r), records[0])
good = {name: r for name, r in peers.items() if "error" not in r}
best = max((r["tokens_per_second"] for r in good.values()), default=None)

steps = lines(f"{base}.jsonl")
code = text(f"{base}.code").strip()
if code == "0" and len(steps) > COUNTED:
    ms = statistics.median(s["step_ms"] for s in steps[-COUNTED:])
    tokens = plan["tokens_per_step"] / ms * 1e3
    rate("lf", tokens, ms, f"{tokens / best:.3f} x the best of PyTorch" if best else "no PyTorch run to compare with")
else:
    failed = True
    print(f"  lf: exit code {code}, {len(steps)} steps: {text(base + '.log').strip()[-400:]}")
for name, r in peers.items():
    if "error" in r:
        print(f"  torch {name:<18} failed: {r['error'][:200]}")
    else:
        rate(f"torch {name}", r["tokens_per_second"], r["step_ms"],
             "peak " + ", ".join(f"{gib:.1f}" for gib in r["peak_gib"]) + " GiB")

if good:
    print("  first loss: PyTorch " + ", ".join(f"{r['loss_first']:.4f}" for r in good.values()) +
          (f"; lf {steps[0]['loss']:.4f}, other weights and tokens" if steps else ""))
    norms = [r["grad_norm_first"] for r in good.values()]
    print("  first gradient norm: PyTorch " + ", ".join(f"{norm:.4f}" for norm in norms))
    # Same weights and tokens: all that may differ is rounding in bfloat16.
    losses = [r["loss_first"] for r in good.values()]
    if not all(abs(x - losses[0]) <= 2e-3 for x in losses) or not all(abs(x - norms[0]) <= 0.01 * norms[0] for x in norms):
        failed = True
        print("  these are DIFFERENT: some PyTorch variant computes something else")

if steps:
    want = planned_bytes()
    wrong = [(s["step"], key) for s in steps for key in want.keys() | measured_bytes(s).keys()
             if want.get(key, 0) != measured_bytes(s).get(key, 0)]
    failed = failed or bool(wrong)
    got = measured_bytes(steps[-1])
    verdict = f"DIFFERENT in {len({step for step, _ in wrong})} of {len(steps)} steps" if wrong else "the same in every step"
    print(f"  bytes sent a step, all ranks: planned {sum(want.values()):,}, measured {sum(got.values()):,}: {verdict}")
    for axis, kind in sorted({key for _, key in wrong}):
        print(f"    {axis} {kind}: planned {want.get((axis, kind), 0):,}, measured {got.get((axis, kind), 0):,}")
    arenas = [m["peak"] - m["staging"] for m in plan["memory"]]
    if steps[-1]["peak_bytes"] != arenas:
        failed = True
        print(f"  arenas: planned {arenas}, DIFFERENT from those of the run, {steps[-1]['peak_bytes']}")

exposed = text(f"{base}.exposed").splitlines()
if text(f"{base}.trace.code").strip() != "0" or len(exposed) != plan["sizes"]["world"]:
    failed = True
    exposed = ["no trace of all ranks: " + text(f"{base}.trace.log").strip()[-200:]]
for waited in exposed:
    print(f"  communication, {waited}")

memory = {m["rank"]: m for m in plan["memory"]}
reports = re.findall(r"^memory of GPU \d+, rank (\d+): .* the driver reports ([\d,]+) MiB", text(f"{base}.log"), re.M)
if plan["options"].get("target") == "cuda" and len(reports) != len(memory):
    failed = True
    print(f"  memory: the driver reported that of {len(reports)} of {len(memory)} ranks")
for rank, reported in reports:
    m, reported = memory[int(rank)], int(reported.replace(",", ""))
    peak, driver = m["peak"] / 2**20, m["driver"] / 2**20
    off = (reported - peak - driver) / reported
    print(f"  memory of rank {rank}: planned {peak:,.0f} MiB and about {driver:,.0f} MiB of driver and NCCL; the driver reports "
          f"{reported:,} MiB, {off:+.1%}" + (", FARTHER than 3 %" if abs(off) > 0.03 else ""))
    failed = failed or abs(off) > 0.03
sys.exit(failed)
