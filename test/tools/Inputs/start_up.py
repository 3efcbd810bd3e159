"""start_up.py EXECUTABLE TOKENS: two processes of a job on a machine whose GPUs are hidden. Each case says what the ranks do
and what each must say; a rank that waits for one that has ended, or for one that never comes, does not wait out its limit."""
import os
import signal
import socket
import subprocess
import sys
import time

from process_end import expect_end

executable, tokens = sys.argv[1:]
no_device = "expected an NVIDIA GPU and a driver for CUDA"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(rank, port, data=tokens, world=2, flags=()):
    environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                   "CUDA_VISIBLE_DEVICES": "", "LF_TIMEOUT_SECONDS": "100"}
    return subprocess.Popen([executable, "--data-path", data, *flags], env=environment, stderr=subprocess.PIPE, text=True)


def await_watch(process):
    """Until the process has its handlers of signals."""
    for _ in range(600):
        with open(f"/proc/{process.pid}/status") as status:
            caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt"))
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.05)
    sys.exit("expected a process that watches for SIGTERM, got none in 30 s")


def expect(case, process, code, words, seconds=30, said=""):
    """Within `seconds`: the limit of a wait is 100."""
    expect_end(case, process, code, words, seconds, said)


port = free_port()
ranks = [start(0, port), start(1, port)]
for rank, process in enumerate(ranks):
    expect(f"no GPU on either host, rank {rank}", process, 2, no_device)

port = free_port()
first = start(0, port)
time.sleep(1.5)  # rank 0 has failed by now
expect("rank 1 comes late", start(1, port), 2, no_device)
expect("rank 0 has stayed for it", first, 2, no_device)

port = free_port()
first = start(0, port, data="nothing.bin")
time.sleep(0.5)
second = start(1, port)
expect("rank 0 lacks the data", first, 4, "\"nothing.bin\": expected a readable file")
expect("rank 1 ends too", second, 2, no_device)

port = free_port()
alone = start(1, port)
await_watch(alone)
alone.send_signal(signal.SIGTERM)
expect("SIGTERM while rank 0 is awaited", alone, 75,
       f"lf: error: rank 1: expected rank 0 to answer at 127.0.0.1:{port}, got SIGTERM; the job ends before its first step")

port = free_port()
alone = start(0, port, data="nothing.bin")
said = alone.stderr.readline() + alone.stderr.readline()  # why it ends, and that it stays for rank 1
alone.send_signal(signal.SIGTERM)
expect("SIGTERM while rank 0 stays", alone, 4, "\"nothing.bin\": expected a readable file", 4, said)

port = free_port()
alone = start(1, port, flags=["--distributed-timeout-minutes", "0.02"])
expect("rank 0 never comes", alone, 5, f"expected rank 0 to answer at 127.0.0.1:{port} within 1.20 s, got \"Connection refused\"", 20)

port = free_port()
for rank, process in enumerate([start(rank, port, world=3) for rank in range(3)]):
    expect(f"another world, rank {rank}", process, 2, "expected a launcher to start 2 ranks, the world of this plan, got WORLD_SIZE=3")
