"""A C++ compiler that writes its arguments to a file first: arguments.py FILE ARGUMENT..."""
import subprocess
import sys

with open(sys.argv[1], "w") as file:
    file.write("\n".join(sys.argv[2:]) + "\n")
sys.exit(subprocess.run(["c++", *sys.argv[2:]]).returncode)
