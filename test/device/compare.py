#!/usr/bin/env python3
"""Compares the metrics of two runs: compare.py A.jsonl B.jsonl LOSS_RTOL NORM_RTOL. Prints one line; fails when they
differ by more, in steps, loss or gradient norm. Tolerances of 0 ask for the same bits."""
import json
import math
import sys


def read(path):
    with open(path) as file:
        return [row for row in map(json.loads, file) if "loss" in row]


def farthest(distances):
    """The largest of them and its place. What is not a number is the largest, which max itself passes over."""
    place = max(range(len(distances)), key=lambda i: math.inf if math.isnan(distances[i]) else distances[i])
    return distances[place], place


def main():
    try:
        a, b = read(sys.argv[1]), read(sys.argv[2])
    except OSError as error:
        sys.exit(str(error))
    bounds = {"loss": float(sys.argv[3]), "grad_norm": float(sys.argv[4])}
    if not a or len(a) != len(b):
        sys.exit(f"expected as many steps, got {len(a)} and {len(b)}")
    worst = {}
    for key in bounds:
        far = [abs(x[key] - y[key]) / max(abs(x[key]), 1e-30) for x, y in zip(a, b)]
        worst[key], _ = farthest(far)
    text = f"{len(a)} steps, loss {a[0]['loss']:.4f} -> {a[-1]['loss']:.4f}, differ by " + ", ".join(
        f"{key} {value:.1e}" for key, value in worst.items())
    bad = [key for key in bounds if not worst[key] <= bounds[key]]
    print(text + (f"; expected at most {', '.join(f'{k} {bounds[k]:.0e}' for k in bad)}" if bad else ""))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
