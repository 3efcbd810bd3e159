"""reader_goes.py COMMAND...: reads one line of what the command prints and goes, as head -1 does; ends with the command's code."""
import subprocess
import sys

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
print(process.stdout.readline(), end="")
process.stdout.close()
sys.exit(process.wait())
