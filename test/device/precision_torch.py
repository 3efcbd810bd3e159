#!/usr/bin/env python3
"""How far does bfloat16 part from float32 in PyTorch, on the weights, tokens, order and learning rates of a run of ours?

  precision_torch.py WEIGHTS.safetensors TOKENS.bin FP32.jsonl [--seed N] [--kinds fp32,master]

WEIGHTS: those that the run started from (./train --train-iters 1 --lr 0 --save-hf DIR writes them). TOKENS and FP32.jsonl: data
and metrics of the float32 run. A Llama with rope theta 10000 and norm epsilon 1e-5; AdamW with the program's default settings.

fp32      float32 throughout: must follow our run
rounded   float32 arithmetic on weights rounded to bfloat16, as every bfloat16 run has them
master    bfloat16 weights, activations and residual stream; float32 master weights and moments
amp       torch.autocast: float32 weights and residual stream, bfloat16 products
"""
import argparse
import json
import struct

import numpy
import torch
import torch.nn.functional as F

from precision_distance import describe

WORD = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def order(size, seed):
    """The order of a file's samples in the first pass over it (runtime/src/data/permutation.h)."""
    key = mix(seed ^ mix(0x6461746173657421))
    half = ((size - 1).bit_length() + 1) // 2
    mask = (1 << half) - 1

    def sample(i):
        while True:
            left, right = i >> half, i & mask
            for turn in range(6):
                left, right = right, left ^ (mix((key + mix(right * 8 + turn)) & WORD) & mask)
            i = left << half | right
            if i < size:
                return i

    return sample


def read_weights(path):
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        entries = json.loads(file.read(length))
        data = file.read()
    entries.pop("__metadata__", None)
    return {name: torch.from_numpy(numpy.frombuffer(data[slice(*e["data_offsets"])], numpy.float32).reshape(e["shape"]).copy()).cuda()
            for name, e in entries.items()}


def norm(x, weight):
    y = x.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5) * weight.float()).to(x.dtype)


def rotate(x, cos, sin):
    low, high = x.float().chunk(2, -1)
    return (x.float() * cos + torch.cat((-high, low), -1) * sin).to(x.dtype)


def forward(p, ids, head_dim):
    """ids (batch, seq) -> logits (batch, seq, vocab); p: name -> parameter."""
    batch, seq = ids.shape
    angles = torch.outer(torch.arange(seq, dtype=torch.float64),
                         10000.0 ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)).repeat(1, 2)
    cos, sin = angles.cos().float().cuda(), angles.sin().float().cuda()
    x = F.embedding(ids, p["model.embed_tokens.weight"])
    for i in range(sum(name.endswith("input_layernorm.weight") for name in p)):
        def w(name):
            return p[f"model.layers.{i}.{name}.weight"]

        def heads(y, name):
            return F.linear(y, w("self_attn." + name)).view(batch, seq, -1, head_dim).transpose(1, 2)

        y = norm(x, w("input_layernorm"))
        q, k, v = rotate(heads(y, "q_proj"), cos, sin), rotate(heads(y, "k_proj"), cos, sin), heads(y, "v_proj")
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + F.linear(mixed.transpose(1, 2).flatten(2), w("self_attn.o_proj"))
        y = norm(x, w("post_attention_layernorm"))
        x = x + F.linear(F.silu(F.linear(y, w("mlp.gate_proj"))) * F.linear(y, w("mlp.up_proj")), w("mlp.down_proj"))
    return F.linear(norm(x, p["model.norm.weight"]), p["lm_head.weight"])


def train(kind, weights, batches, rates, head_dim):
    """The loss of each step. batches: (batch, seq + 1) of ids."""
    masters = {name: w.clone() for name, w in weights.items()}
    dtype = torch.bfloat16 if kind == "master" else torch.float32
    parameters = {name: torch.nn.Parameter(w.to(dtype, copy=True)) for name, w in weights.items()}

    def publish():
        for name, p in parameters.items():
            p.copy_(masters[name].bfloat16() if kind in ("rounded", "master") else masters[name])

    adamw = torch.optim.AdamW([dict(params=[w for w in masters.values() if w.dim() > 1], weight_decay=0.01),
                               dict(params=[w for w in masters.values() if w.dim() == 1], weight_decay=0.0)],
                              lr=0.0, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    with torch.no_grad():
        publish()
    for ids, rate in zip(batches, rates):
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "amp"):
            logits = forward(parameters, ids[:, :-1], head_dim)
        loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        with torch.no_grad():
            for name, p in parameters.items():
                masters[name].grad, p.grad = p.grad.float(), None
            length = torch.linalg.vector_norm(torch.stack(torch._foreach_norm([w.grad for w in masters.values()])))
            torch._foreach_mul_([w.grad for w in masters.values()], (1.0 / (length + 1e-6)).clamp(max=1.0))
            for group in adamw.param_groups:
                group["lr"] = rate
            adamw.step()
            publish()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("weights", "tokens", "fp32"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--kinds", default="fp32,rounded,master,amp")
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--seq-length", type=int, default=512)
    o = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    with open(o.fp32) as file:
        steps = [json.loads(line) for line in file]
    batch = steps[0]["consumed_samples"]
    tokens = torch.from_numpy(numpy.fromfile(o.tokens, numpy.uint16).astype(numpy.int64))
    sample = order((len(tokens) - 1) // o.seq_length, o.seed)
    batches = [torch.stack([tokens[i * o.seq_length:][:o.seq_length + 1] for i in map(sample, range(s * batch, (s + 1) * batch))]).cuda()
               for s in range(len(steps))]
    weights = read_weights(o.weights)
    for kind in o.kinds.split(","):
        losses = train(kind, weights, batches, [step["lr"] for step in steps], o.head_dim)
        print(f"PyTorch {kind:8}", describe([step["loss"] for step in steps], losses)[0], flush=True)


if __name__ == "__main__":
    main()
