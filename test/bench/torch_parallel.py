#!/usr/bin/env python3
"""Training steps of a Llama-like model under one kind of parallelism, in PyTorch: what our executables are measured against.

  torchrun --nproc-per-node N torch_parallel.py --mode MODE [--compile block] [--micro-batch B --global-batch G] [sizes]

MODE            parameters and gradients
  ddp           whole on every rank; --precision amp: float32, bfloat16 by autocast, float32 reduction; master: bfloat16 parameters
                and reduction, float32 masters
  fsdp          fully_shard for each layer: bfloat16 parameters, float32 reduction
  tp            columns, rows and the vocabulary split, the residual stream split along the sequence, loss on split logits
  pp            Schedule1F1B; --split names the layers of each stage
  pp-interleaved  ScheduleInterleaved1F1B, two stages a rank

Moments and the weights that AdamW updates are float32 in every mode, gradients of several micro-batches are added in float32
(but ddp's master), gradients are clipped by their global norm. Every mode starts from the same weights and trains on the same
tokens: the first loss and gradient norm tell whether it computes the same thing. Prints one JSON line; with "error" in it when the run failed.
"""
import argparse
import contextlib
import datetime
import json
import os
import statistics
import threading
import time
import traceback

import torch
import torch._functorch.config
import torch.distributed as dist
from torch.nn.attention import SDPBackend, sdpa_kernel

import torch_model
from torch_model import COMPUTE, Shape, Stage
from torch_optimizer import MasterAdamW, ShardedAdamW

LAYER_8B = dict(layers=8, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=128256, seq=4096)
MODES = ("ddp", "fsdp", "tp", "pp", "pp-interleaved")
ATTENTION = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mode", choices=MODES, required=True)
    p.add_argument("--compile", choices=("none", "block"), default="none", help="block: each layer, and the loss (not with tp)")
    p.add_argument("--precision", choices=("amp", "master"), default="amp", help="of ddp")
    p.add_argument("--reshard-after-forward", type=int, choices=(0, 1), default=0,
                   help="of fsdp; 0 keeps gathered parameters until the backward pass has used them")
    p.add_argument("--split", default="", help="of pp: layers of each stage, as 5,3; even when not given")
    p.add_argument("--attention", choices=sorted(ATTENTION), default="cudnn", help="kernel on GPUs that is tried first")
    p.add_argument("--micro-batch", type=int, default=1, help="sequences of one forward pass of a rank")
    p.add_argument("--global-batch", type=int, help="sequences of a step (micro-batch x data-parallel ranks)")
    p.add_argument("--warm-up", type=int, default=4, help="steps before those that are timed")
    p.add_argument("--steps", type=int, default=8, help="steps that are timed")
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    p.add_argument("--limit", type=float, default=150, help="seconds after which the run ends with an error")
    for name, size in LAYER_8B.items():
        p.add_argument("--" + name.replace("_", "-"), type=int, default=size)
    return p.parse_args()


def say(record):
    print(json.dumps(record), flush=True)


def build(o, shape, device, first=0, count=None, first_stage=True, last_stage=True, dtype=COMPUTE):
    with torch.device(device):
        stage = Stage(shape, first, shape.layers if count is None else count, first_stage, last_stage)
    stage.to(dtype)
    stage.initialize()
    return stage


def compile_blocks(o, stage):
    if o.compile == "block":
        for block in stage.blocks.values():
            block.compile(dynamic=False)


def loss_function(o):
    return torch.compile(torch_model.cross_entropy, dynamic=False) if o.compile == "block" else torch_model.cross_entropy


class Ddp:
    def __init__(self, o, shape, device):
        self.amp = o.precision == "amp"
        self.device = device.type
        stage = build(o, shape, device, dtype=torch.float32 if self.amp else COMPUTE)
        compile_blocks(o, stage)
        self.loss = loss_function(o)
        self.model = torch.nn.parallel.DistributedDataParallel(
            stage, device_ids=[device] if device.type == "cuda" else None, gradient_as_bucket_view=True, bucket_cap_mb=100,
            broadcast_buffers=False)
        self.optimizer = (ShardedAdamW(stage.parameters(), o.clip) if self.amp else
                          MasterAdamW(stage.parameters(), o.clip, eager=False, split=False))

    def train(self, micro_batches):
        total = 0.0
        for i, tokens in enumerate(micro_batches):
            last = i + 1 == len(micro_batches)
            with contextlib.nullcontext() if last else self.model.no_sync():
                with torch.autocast(self.device, COMPUTE, enabled=self.amp):
                    loss = self.loss(self.model(tokens[:, :-1]), tokens[:, 1:]) / len(micro_batches)
                loss.backward()
            total = total + loss.detach()
        return total


class Fsdp:
    def __init__(self, o, shape, device):
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        self.model = build(o, shape, device, dtype=torch.float32)
        compile_blocks(o, self.model)
        self.loss = loss_function(o)
        how = dict(mp_policy=MixedPrecisionPolicy(param_dtype=COMPUTE, reduce_dtype=torch.float32),
                   reshard_after_forward=bool(o.reshard_after_forward))
        for block in self.model.blocks.values():
            fully_shard(block, **how)
        fully_shard(self.model, **how)
        self.optimizer = ShardedAdamW(self.model.parameters(), o.clip)

    def train(self, micro_batches):
        total = 0.0
        for i, tokens in enumerate(micro_batches):
            self.model.set_requires_gradient_sync(i + 1 == len(micro_batches))
            loss = self.loss(self.model(tokens[:, :-1]), tokens[:, 1:]) / len(micro_batches)
            loss.backward()
            total = total + loss.detach()
        return total


class Tp:
    def __init__(self, o, shape, device):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Shard
        from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, SequenceParallel, loss_parallel,
                                                       parallelize_module)
        mesh = init_device_mesh(device.type, (dist.get_world_size(),))
        self.model = build(o, shape, device)
        # The embedding is split by columns: split by rows, its whole gradient would be reduced for every micro-batch.
        plan = {"embed": ColwiseParallel(output_layouts=Shard(1)),
                "norm": SequenceParallel(),
                "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}
        for i in self.model.blocks:
            for name in ("attention_norm", "ffn_norm"):
                plan[f"blocks.{i}.{name}"] = SequenceParallel()
            for name in ("qkv", "gate_up"):
                plan[f"blocks.{i}.{name}"] = ColwiseParallel(input_layouts=Shard(1))
            for name in ("out", "down"):
                plan[f"blocks.{i}.{name}"] = RowwiseParallel(output_layouts=Shard(1))
        # Every rank has drawn the same weights and keeps its rows or columns.
        parallelize_module(self.model, mesh, plan, src_data_rank=None)
        compile_blocks(o, self.model)
        self.loss_parallel = loss_parallel
        self.optimizer = MasterAdamW(self.model.parameters(), o.clip, eager=True, split=True)

    def train(self, micro_batches):
        total = 0.0
        for tokens in micro_batches:
            with self.loss_parallel():
                loss = torch_model.cross_entropy(self.model(tokens[:, :-1]), tokens[:, 1:]) / len(micro_batches)
                loss.backward()
            total = total + loss.detach().full_tensor()
        return total


class Pp:
    """Stage s belongs to rank s mod ranks."""

    def __init__(self, o, shape, device):
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B
        chunks = 2 if o.mode == "pp-interleaved" else 1
        ranks, rank = dist.get_world_size(), dist.get_rank()
        count = ranks * chunks
        split = [int(n) for n in o.split.split(",")] if o.split else [shape.layers // count] * count
        if len(split) != count or sum(split) != shape.layers:
            raise ValueError(f"--split: expected {count} numbers, layers of each stage, with the sum {shape.layers}, got {split}")
        loss = loss_function(o)
        micro_batches = o.global_batch // o.micro_batch
        stages, self.parts = [], []
        hidden = torch.empty(o.micro_batch, shape.seq, shape.hidden, dtype=COMPUTE, device="meta")
        tokens = torch.empty(o.micro_batch, shape.seq, dtype=torch.int64, device="meta")
        logits = torch.empty(o.micro_batch, shape.seq, shape.vocab, dtype=COMPUTE, device="meta")
        for s in range(rank, count, ranks):
            first, last = s == 0, s + 1 == count
            part = build(o, shape, device, sum(split[:s]), split[s], first, last)
            compile_blocks(o, part)
            self.parts.append(part)
            stages.append(PipelineStage(part, s, count, device, input_args=tokens if first else hidden,
                                        output_args=logits if last else hidden))
        kind, what = (Schedule1F1B, stages[0]) if chunks == 1 else (ScheduleInterleaved1F1B, stages)
        self.schedule = kind(what, micro_batches, loss_fn=lambda out, labels: loss(out, labels) / micro_batches,
                             scale_grads=False)
        self.first, self.last, self.device = rank == 0, rank + 1 == ranks, device
        self.optimizer = MasterAdamW((p for part in self.parts for p in part.parameters()), o.clip, eager=True, split=True)

    def train(self, micro_batches):
        tokens = torch.cat(micro_batches)
        inputs = (tokens[:, :-1].contiguous(),) if self.first else ()
        losses = []
        self.schedule.step(*inputs, return_outputs=False,
                           **(dict(target=tokens[:, 1:], losses=losses) if self.last else {}))
        return torch.stack(losses).sum().detach() if self.last else torch.zeros((), device=self.device)


BUILDERS = {"ddp": Ddp, "fsdp": Fsdp, "tp": Tp, "pp": Pp, "pp-interleaved": Pp}


def run(o, device):
    world, rank = dist.get_world_size(), dist.get_rank()
    shape = Shape(**{name: getattr(o, name) for name in LAYER_8B})
    ranks_of_data = world if o.mode in ("ddp", "fsdp") else 1
    if o.global_batch is None:
        o.global_batch = o.micro_batch * ranks_of_data
    if o.global_batch % (o.micro_batch * ranks_of_data):
        raise ValueError(f"--global-batch: expected a multiple of {o.micro_batch * ranks_of_data} "
                         f"(micro-batch {o.micro_batch} x {ranks_of_data} data-parallel ranks), got {o.global_batch}")
    # The cache of traced graphs does not know which attention kernel was asked for.
    torch._functorch.config.enable_autograd_cache = False
    trainer = BUILDERS[o.mode](o, shape, device)

    def micro_batches(step):
        source = torch.Generator().manual_seed(step)
        tokens = torch.randint(0, shape.vocab, (o.global_batch, shape.seq + 1), generator=source)
        if ranks_of_data > 1:
            tokens = tokens.chunk(world)[rank]
        return list(tokens.to(device).split(o.micro_batch))

    synchronize = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    order = sorted(ATTENTION, key=lambda name: name != o.attention)
    kernel = (sdpa_kernel([ATTENTION[name] for name in order], set_priority=True) if device.type == "cuda" else
              contextlib.nullcontext())
    seconds, losses = [], []
    with kernel:
        for step in range(o.warm_up + o.steps):
            data = micro_batches(step)
            dist.barrier()
            synchronize()
            if step == o.warm_up and device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            begin = time.perf_counter()
            losses.append(trainer.train(data))
            norm = trainer.optimizer.step()
            synchronize()
            seconds.append(time.perf_counter() - begin)
            if step == 0:
                first_norm = float(norm)
    ends = torch.stack([losses[0], losses[-1]]).double()
    if o.mode != "tp":
        dist.all_reduce(ends)
        ends /= ranks_of_data
    memory = (0.0, 0.0, 0.0)
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info()
        memory = tuple(round(b / 2**30, 2) for b in
                       (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), total - free))
    everyone = [None] * world
    dist.all_gather_object(everyone, memory)
    median = statistics.median(seconds[o.warm_up:])
    tokens = o.global_batch * shape.seq
    if rank == 0:
        say({"mode": o.mode, "world": world, "compile": o.compile,
             **({"precision": o.precision} if o.mode == "ddp" else {}), "micro_batch": o.micro_batch,
             "global_batch": o.global_batch, "tokens_per_second": round(tokens / median, 1), "step_ms": round(median * 1e3, 2),
             "step_ms_min_max": [round(f(seconds[o.warm_up:]) * 1e3, 2) for f in (min, max)],
             "peak_gib": [m[0] for m in everyone], "reserved_gib": [m[1] for m in everyone],
             "driver_gib": [m[2] for m in everyone], "loss_first": round(float(ends[0]), 4),
             "loss_last": round(float(ends[1]), 4), "grad_norm_first": round(first_norm, 4), "warm_up_s": round(sum(seconds[:o.warm_up]), 1), "torch": torch.__version__})


def main():
    o = options()
    about = {"mode": o.mode, "compile": o.compile, "rank": int(os.environ.get("RANK", 0))}

    def too_late():
        say({**about, "error": f"expected to be done after {o.limit} s (--limit), got no end"})
        os._exit(1)

    watch = threading.Timer(o.limit, too_late)
    watch.daemon = True
    watch.start()
    try:
        local = int(os.environ["LOCAL_RANK"])
        device = torch.device("cuda", local) if o.device == "cuda" else torch.device("cpu")
        if o.device == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if o.device == "cuda" else "gloo", timeout=datetime.timedelta(seconds=o.limit),
                                device_id=device if o.device == "cuda" else None)
        run(o, device)
        dist.barrier()
    except BaseException as e:  # whatever it is: the others must not wait, and the table needs its line
        traceback.print_exc()
        say({**about, "error": f"{type(e).__name__}: {str(e)[:300]}"})
        os._exit(1)
    dist.destroy_process_group()
    watch.cancel()


if __name__ == "__main__":
    main()
