"""AdamW for bfloat16 parameters: float32 masters, moments and gradients, clipped by the global norm.

Gradients are added up in float32 as soon as the backward pass has made them (`eager`), or taken over once a step, for wrappers
that keep gradients themselves. Parameters may be DTensors: everything here works on local parts, and gradients of replicated
parameters that a rank knows only in part are summed over the ranks in one call a step.
"""
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

ADAMW = dict(lr=1e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, fused=True)


def local(t):
    return t.to_local() if isinstance(t, DTensor) else t


class MasterAdamW:
    """`split`: the parameters, or parts of DTensors, of all ranks together are the model, so norms are summed over ranks."""

    def __init__(self, parameters, clip, eager, split):
        self.parameters = list(parameters)
        self.clip, self.eager, self.split = clip, eager, split
        self.masters = [local(p.detach()).float() for p in self.parameters]
        self.adamw = torch.optim.AdamW(self.masters, **ADAMW)
        self.gradients = [torch.zeros_like(m) for m in self.masters]
        for master, gradient in zip(self.masters, self.gradients):
            master.grad = gradient
        self.partial = set()  # indices of replicated parameters whose gradients are sums over ranks yet to be made
        self.seen = set()
        for i, p in enumerate(self.parameters):
            if eager:
                p.register_post_accumulate_grad_hook(lambda p, i=i: self.take(i, p))

    @torch.no_grad()
    def take(self, i, p):
        gradient = p.grad
        if isinstance(gradient, DTensor) and gradient.placements != p.placements:
            if p.placements[0].is_replicate():
                self.partial.add(i)
            else:
                gradient = gradient.redistribute(placements=p.placements)
        if i in self.seen:
            self.gradients[i].add_(local(gradient))
        else:
            self.gradients[i].copy_(local(gradient))
            self.seen.add(i)
        p.grad = None

    @torch.no_grad()
    def step(self):
        """The norm of the gradient before clipping."""
        if not self.eager:
            torch._foreach_copy_(self.gradients, [p.grad for p in self.parameters])
            for p in self.parameters:
                p.grad = None
        elif len(self.seen) != len(self.parameters):
            raise RuntimeError(f"expected gradients of {len(self.parameters)} parameters, got {len(self.seen)}")
        self.seen.clear()
        if self.partial:
            parts = [self.gradients[i] for i in sorted(self.partial)]
            flat = torch.cat([part.flatten() for part in parts])
            dist.all_reduce(flat)
            torch._foreach_copy_(parts, [s.view_as(part) for s, part in zip(flat.split([x.numel() for x in parts]), parts)])
        norm = self.scale_to_clip()
        self.adamw.step()
        torch._foreach_copy_([local(p) for p in self.parameters], self.masters)
        return norm

    def scale_to_clip(self):
        counted = self.gradients
        if self.split and dist.get_rank() != 0:  # whole parameters of every rank are counted once
            counted = [g for g, p in zip(self.gradients, self.parameters)
                       if not (isinstance(p, DTensor) and p.placements[0].is_replicate())]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(counted)))
        if self.split:
            square = norm.square()
            dist.all_reduce(square)
            norm = square.sqrt()
        torch._foreach_mul_(self.gradients, (self.clip / (norm + 1e-6)).clamp(max=1.0))
        return norm


class ShardedAdamW:
    """torch's AdamW on float32 parameters, whole or DTensors, clipped without waiting for the device."""

    def __init__(self, parameters, clip):
        self.parameters = list(parameters)
        self.clip = clip
        self.adamw = torch.optim.AdamW(self.parameters, **ADAMW)

    def step(self):
        """The norm of the gradient before clipping."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.clip, foreach=True)
        self.adamw.step()
        self.adamw.zero_grad(set_to_none=True)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm
