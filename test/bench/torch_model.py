"""A decoder of Llama's kind in plain PyTorch: whole, or the part of it that is one stage of a pipeline.

Values of a parameter follow from its name alone, so every way of splitting the model starts from the same one. Fused projections
are stored in `kv_heads` groups of rows (a group of q, k, v: the heads that share a kv head; a group of gate, up: equal parts of
the ffn), so that contiguous rows are what a tensor-parallel rank computes with.
"""
import dataclasses
import zlib

import torch
import torch.nn.functional as F
from torch import nn

COMPUTE = torch.bfloat16


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    seq: int


class Norm(nn.Module):
    """RMS norm; reduces in float32, returns the type of its input."""

    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), 1e-5)


def rotate(x, cos, sin):
    """Rotary embedding of x (batch, heads, seq, head_dim) by tables (seq, head_dim)."""
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


class Block(nn.Module):
    """x (batch, seq, hidden) -> the same; under sequence parallelism x is this rank's part of the sequence."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        q = shape.heads * shape.head_dim
        kv = shape.kv_heads * shape.head_dim
        self.attention_norm = Norm(shape.hidden)
        self.qkv = nn.Linear(shape.hidden, q + 2 * kv, bias=False)
        self.out = nn.Linear(q, shape.hidden, bias=False)
        self.ffn_norm = Norm(shape.hidden)
        self.gate_up = nn.Linear(shape.hidden, 2 * shape.ffn, bias=False)
        self.down = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x, cos, sin):
        s = self.shape
        shared = s.heads // s.kv_heads
        qkv = self.qkv(self.attention_norm(x))
        batch, seq, _ = qkv.shape
        qkv = qkv.view(batch, seq, -1, shared + 2, s.head_dim)
        q, k, v = (part.flatten(2, 3).transpose(1, 2) for part in qkv.split([shared, 1, 1], 3))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shared > 1)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.ffn_norm(x)).unflatten(-1, (-1, 2, s.ffn // s.kv_heads)).unbind(-2)
        return x + self.down((F.silu(gate) * up).flatten(2))


class Stage(nn.Module):
    """Layers [first, first + count); with `first_stage` tokens (batch, seq) come in, with `last_stage` logits go out."""

    def __init__(self, shape, first, count, first_stage=True, last_stage=True):
        super().__init__()
        self.embed = nn.Embedding(shape.vocab, shape.hidden) if first_stage else None
        self.blocks = nn.ModuleDict({str(i): Block(shape) for i in range(first, first + count)})
        self.norm = Norm(shape.hidden) if last_stage else None
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False) if last_stage else None
        rates = 500000.0 ** (-torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim)
        angles = torch.outer(torch.arange(shape.seq, dtype=torch.float32), rates).repeat(1, 2)
        self.register_buffer("cos", angles.cos().to(COMPUTE), persistent=False)
        self.register_buffer("sin", angles.sin().to(COMPUTE), persistent=False)

    @torch.no_grad()
    def initialize(self):
        for name, p in self.named_parameters():
            if p.dim() == 1:
                p.fill_(1.0)
                continue
            source = torch.Generator(device=p.device).manual_seed(zlib.crc32(name.encode()))
            p.copy_(torch.empty(p.shape, device=p.device).normal_(0.0, 0.02, generator=source))

    def forward(self, x):
        if self.embed is not None:
            x = self.embed(x).to(COMPUTE)
        for block in self.blocks.values():
            x = block(x, self.cos, self.sin)
        return x if self.head is None else self.head(self.norm(x))


def cross_entropy(logits, labels):
    """Mean over tokens, in float32; logits (batch, seq, vocab), labels (batch, seq)."""
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())
