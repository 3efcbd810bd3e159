"""limited.py BYTES COMMAND...: the command cannot write a file beyond BYTES, as on a full disk."""
import os
import resource
import signal
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execvp(sys.argv[2], sys.argv[2:])
