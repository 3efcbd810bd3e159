#!/usr/bin/env python3
"""Text to byte tokens for the quickstart, and the judgement of its loss.

usage: byte_tokens.py TRAIN.bin HELD_OUT.txt TEXT...       the last tenth of the text is held out
       byte_tokens.py --judge METRICS.jsonl HELD_OUT.txt TRAIN.bin
"""
import collections
import json
import math
import os
import sys


def tokenize(train, held_out, paths):
    data = b"".join(open(p, "rb").read() for p in sorted({os.path.realpath(p) for p in paths if os.path.isfile(p)}))
    if len(data) < 200_000:
        sys.exit(f"expected at least 200000 bytes of text, got {len(data)}: name more files")
    cut = len(data) * 9 // 10
    with open(train, "wb") as f:
        f.write(b"".join(bytes((b, 0)) for b in data[:cut]))
    with open(held_out, "wb") as f:
        f.write(data[cut:])
    print(f"text: {len(data)} bytes, {cut} to train on, {len(data) - cut} held out")


def judge(metrics, held_out, train):
    """The unigram entropy: the loss on held-out text of a model that knows how often each byte occurs, and nothing else."""
    seen = collections.Counter(open(train, "rb").read()[::2])
    total = sum(seen.values()) + 256
    text = open(held_out, "rb").read()
    entropy = -sum(math.log((seen[b] + 1) / total) for b in text) / len(text)
    steps = [json.loads(line) for line in open(metrics)]
    last = steps[-8:]
    loss = sum(s["loss"] for s in last) / len(last)
    speed = sum(s["tokens_per_second"] for s in steps[1:]) / max(1, len(steps) - 1)
    print(f"loss {steps[0]['loss']:.3f} -> {loss:.3f} (mean of the last {len(last)} steps); "
          f"unigram entropy of the held-out text {entropy:.3f}; {speed:,.0f} tokens/s")
    if not loss < entropy:
        sys.exit("expected a loss below the unigram entropy")


if len(sys.argv) == 5 and sys.argv[1] == "--judge":
    judge(*sys.argv[2:])
elif len(sys.argv) >= 4 and not sys.argv[1].startswith("-"):
    tokenize(sys.argv[1], sys.argv[2], sys.argv[3:])
else:
    sys.exit(__doc__)
