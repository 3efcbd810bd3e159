"""mpi_start.py EXECUTABLE TOKENS: two processes of mpiexec of which one cannot start. The job ends with its code; the other says
why, where it has got far enough to hear."""
import subprocess
import sys

from process_end import expect_end

executable, tokens = sys.argv[1:]
good = [executable, "--data-path", tokens, "--train-iters", "100000000"]


def expect(case, ranks, code, words):
    command = ["mpiexec"]
    for i, rank in enumerate(ranks):
        command += ([":"] if i else []) + ["-n", "1", *rank]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    expect_end(case, process, code, words, 60)


lacking = [executable, "--data-path", "nothing.bin"]
for rank, ranks in enumerate([[lacking, good], [good, lacking]]):
    expect(f"rank {rank} lacks its data", ranks, 4, "\"nothing.bin\": expected a readable file")
expect("rank 1 has another command line", [good, good + ["--lr", "fast"]], 2, "--lr: expected a number, got \"fast\"")
expect("both have a mistake", [good + ["--lr", "fast"]] * 2, 2, "--lr: expected a number, got \"fast\"")
