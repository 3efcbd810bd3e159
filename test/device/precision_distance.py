#!/usr/bin/env python3
"""How far the losses of a run are from those of a float32 run, step by step: precision_distance.py FP32.jsonl RUN.jsonl STEPS.
Prints one line; fails when a loss after the 20th step is more than 1 % away, or the runs have not STEPS steps."""
import json
import sys

from compare import farthest

FIRST, BOUND = 20, 0.01


def losses(path):
    with open(path) as file:
        return [json.loads(line)["loss"] for line in file]


def describe(reference, run):
    """The text, and the largest distance after step FIRST."""
    far = [abs(x - y) / x for x, y in zip(reference, run)][FIRST:]
    worst, place = farthest(far)
    at = FIRST + 1 + place
    return f"loss {run[0]:.4f} -> {run[-1]:.4f} (float32 {reference[-1]:.4f}); farthest after step {FIRST}: {worst:.2%} at {at}", worst


def main():
    try:
        reference, run, steps = losses(sys.argv[1]), losses(sys.argv[2]), int(sys.argv[3])
    except OSError as error:
        sys.exit(str(error))
    if len(reference) != steps or len(run) != steps:
        sys.exit(f"expected {steps} steps of both, got {len(reference)} and {len(run)}")
    text, worst = describe(reference, run)
    print(text)
    sys.exit(not worst <= BOUND)  # also when it is not a number


if __name__ == "__main__":
    main()
