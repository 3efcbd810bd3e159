"""Multi-token prediction written down a second time, in plain Python: losses of a tiny Llama from the weights that a run
saved, and its gradients by central differences. Usage: mtp_oracle.py RUN TOKENS DEPTHS SAMPLES FACTOR, with RUN a folder of
weights/, gradients/ and metrics.jsonl of one float64 step with a rate of 0. Sizes are those of mtp_oracle.json."""
import json
import math
import random
import struct
import sys

run, depths, samples, factor = sys.argv[1], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
layers, heads, size, length = 2, 2, 8, 8  # one kv head
tokens = struct.unpack("<%dH" % (length * samples + 1), open(sys.argv[2], "rb").read()[: 2 * (length * samples + 1)])


def tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = struct.unpack("<%dd" % ((end - begin) // 8), data[begin:end])
            columns = entry["shape"][-1]
            out[name] = [list(values[i : i + columns]) for i in range(0, len(values), columns)]
    return out


def times(matrix, x):
    return [sum(a * b for a, b in zip(row, x)) for row in matrix]


def norm(x, weight):
    scale = 1 / math.sqrt(sum(a * a for a in x) / len(x) + 1e-5)
    return [a * scale * b for a, b in zip(x, weight[0])]


def rope(x, position):
    half, y = size // 2, [0.0] * size
    for i in range(half):
        angle = position * 10000 ** (-i / half)
        y[i] = x[i] * math.cos(angle) - x[i + half] * math.sin(angle)
        y[i + half] = x[i + half] * math.cos(angle) + x[i] * math.sin(angle)
    return y


def layer(w, at, xs):
    w = lambda name, of=w: of[at + name + ".weight"]
    normed = [norm(x, w("input_layernorm")) for x in xs]
    q, k, v = ([times(w("self_attn.%s_proj" % name), x) for x in normed] for name in "qkv")
    k = [rope(row, t) for t, row in enumerate(k)]
    out = []
    for s, x in enumerate(xs):
        context = []
        for h in range(heads):
            query = rope(q[s][h * size : (h + 1) * size], s)
            scores = [math.exp(sum(a * b for a, b in zip(query, k[t])) / math.sqrt(size)) for t in range(s + 1)]
            context += [sum(scores[t] * v[t][i] for t in range(s + 1)) / sum(scores) for i in range(size)]
        x = [a + b for a, b in zip(x, times(w("self_attn.o_proj"), context))]
        y = norm(x, w("post_attention_layernorm"))
        gate, up = times(w("mlp.gate_proj"), y), times(w("mlp.up_proj"), y)
        inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
        out.append([a + b for a, b in zip(x, times(w("mlp.down_proj"), inner))])
    return out


def losses(w):
    """The mean of the model's own loss, then of each depth's."""
    table, head = w["model.embed_tokens.weight"], w["lm_head.weight"]
    sums, counts = [0.0] * (depths + 1), [0] * (depths + 1)

    def score(depth, xs, text):
        for s in range(length - depth):
            logits = times(head, xs[s])
            sums[depth] += math.log(sum(map(math.exp, logits))) - logits[text[s + depth + 1]]
            counts[depth] += 1

    for sample in range(samples):
        text = tokens[sample * length : (sample + 1) * length + 1]
        xs = [table[t] for t in text[:length]]
        for number in range(layers):
            xs = layer(w, "model.layers.%d." % number, xs)
        h = [norm(x, w["model.norm.weight"]) for x in xs]
        score(0, h, text)
        for depth in range(depths):
            at = "model.layers.%d." % (layers + depth)
            joined = []
            for s in range(length):
                shifted = s + depth + 1
                e = norm(table[text[shifted] if shifted < length else 0], w[at + "enorm.weight"])
                joined.append(times(w[at + "eh_proj.weight"], e + norm(h[s], w[at + "hnorm.weight"])))
            h = [norm(x, w[at + "shared_head.norm.weight"]) for x in layer(w, at, joined)]
            score(depth + 1, h, text)
    return [a / b for a, b in zip(sums, counts)]


weights, gradients = tensors(run + "/weights/model.safetensors"), tensors(run + "/gradients/gradients.safetensors")
metrics = json.loads(open(run + "/metrics.jsonl").readline())
distances = [abs(a - b) for a, b in zip(losses(weights), [metrics["loss"]] + metrics["mtp_loss"])]
assert len(metrics["mtp_loss"]) == depths and all(d < 1e-12 for d in distances), distances
print("losses are equal")
assert sorted(weights) == sorted(gradients)
random.seed(1)
for name, rows in sorted(weights.items()):
    i, j, step, totals = random.randrange(len(rows)), random.randrange(len(rows[0])), 1e-5, []
    for sign in (1, -1):
        rows[i][j] += sign * step
        main, *rest = losses(weights)
        totals.append(main + factor / depths * sum(rest))
        rows[i][j] -= sign * step
    slope = (totals[0] - totals[1]) / (2 * step)
    assert abs(slope - gradients[name][i][j]) < 1e-7, (name, i, j, slope, gradients[name][i][j])
print("gradients are equal:", len(gradients))
