"""How a process of a test ends."""
import subprocess
import sys
import time


def expect_end(case, process, code, words, seconds, said=""):
    """Prints how long `process` took to end with `code` and with `words` on its standard error; ends the test when it does not
    within `seconds`. `said`: what has been read of its standard error before."""
    begin = time.monotonic()
    try:
        text = said + process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"{case}: expected an end within {seconds} s, got none")
    if process.returncode != code or words not in text:
        sys.exit(f"{case}: expected code {code} and \"{words}\", got {process.returncode} and {text}")
    print(f"{case}: code {code} after {time.monotonic() - begin:.1f} s")
