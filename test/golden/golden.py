"""Trains a reference case under a plan and compares every number: golden.py CASE_DIR WORK_DIR [--launch "..."] [lf-compile flags]

Exit 0: losses within 2e-5, gradient norms, gradients and weights within 2e-4 of their norms; 1: not; 2: did not run.
"""
import array
import json
import math
import os
import shlex
import struct
import subprocess
import sys

LOSS, REST = 2e-5, 2e-4
WAVE = [math.sin(1.0 + i) for i in range(9973)]


def run(what, command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{what} exited with {done.returncode}: {shlex.join(command)}\n{done.stdout}\n{done.stderr}")
        sys.exit(2)


def prints(folder):
    """name -> (norm, probe) of each float32 tensor of a folder with one safetensors file."""
    (file,) = [name for name in os.listdir(folder) if name.endswith(".safetensors")]
    with open(f"{folder}/{file}", "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        start = f.tell()
        result = {}
        for name, tensor in header.items():
            if name == "__metadata__":
                continue
            begin, end = tensor["data_offsets"]
            f.seek(start + begin)
            x = array.array("f", f.read(end - begin))
            w = [WAVE[i % len(WAVE)] for i in range(len(x))]
            result[name] = (math.sqrt(math.fsum(v * v for v in x)),
                            math.fsum(a * b for a, b in zip(x, w)) / math.sqrt(math.fsum(v * v for v in w)))
    return result


def main(case, work, *flags):
    launch = []
    if flags and flags[0] == "--launch":
        launch, flags = shlex.split(flags[1]), flags[2:]
    os.makedirs(work, exist_ok=True)
    expected = json.load(open(f"{case}/expected.json"))
    hyper = expected["hyper"]
    run("lf-compile", ["lf-compile", f"{case}/config.json", "--fp32", "--seq-length", str(expected["seq_length"]), "--global-batch-size",
                       str(expected["global_batch_size"]), "-o", f"{work}/train", *flags])
    run("training", [*launch, f"{work}/train", "--data-path", f"{case}/tokens.bin", "--no-shuffle", "--train-iters", str(expected["steps"]),
                     "--load", case, "--lr", str(hyper["lr"]), "--lr-decay-style", "constant", "--weight-decay", str(hyper["weight_decay"]),
                     "--adam-beta1", str(hyper["beta1"]), "--adam-beta2", str(hyper["beta2"]), "--adam-eps", str(hyper["eps"]),
                     "--clip-grad", str(hyper["clip_grad"]), "--metrics", f"{work}/metrics.jsonl", "--save-hf", f"{work}/weights",
                     "--dump-gradients", f"{work}/gradients"])
    steps = [json.loads(line) for line in open(f"{work}/metrics.jsonl")]
    faults = [] if len(steps) == expected["steps"] else [f"expected {expected['steps']} steps, got {len(steps)}"]
    for key, bound in (("loss", LOSS), ("grad_norm", REST)):
        for i, (step, want) in enumerate(zip(steps, expected[key])):
            if not abs(step[key] - want) <= bound * abs(want):
                faults.append(f"step {i + 1}: expected {key} {want:.8g}, got {step[key]:.8g}")
    for what, key in (("gradients", "gradients_of_step_1"), ("weights", "weights_after_last_step")):
        got, want = prints(f"{work}/{what}"), expected[key]
        unchecked = expected.get("unchecked_weights", {}).get("names", ()) if what == "weights" else ()
        faults += [f"{what}: expected {name}, got none" for name in want if name not in got and name not in unchecked]
        faults += [f"{what}: expected no {name}, got one" for name in got if name not in want]
        for name in want:
            if name in got and name not in unchecked:
                bound = REST * max(want[name][0], 1e-12)
                if not all(abs(a - b) <= bound for a, b in zip(got[name], want[name])):
                    faults.append(f"{what}: expected {name} with norm and probe {want[name]}, got {list(got[name])}")
    print("\n".join(faults) or "equal")
    return 1 if faults else 0


sys.exit(main(*sys.argv[1:]))
