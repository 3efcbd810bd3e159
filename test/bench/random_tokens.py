"""Writes N random token ids below VOCAB, as wide as the executables read them: random_tokens.py VOCAB N FILE"""
import array
import random
import sys

vocab, count = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(1)
with open(sys.argv[3], "wb") as file:
    array.array("I" if vocab > 65536 else "H", (int(draw.random() * vocab) for _ in range(count))).tofile(file)
