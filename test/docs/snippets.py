"""Writes the mlir snippets of a Markdown page as one split input file: snippets.py PAGE.md OUT.mlir"""
import re
import sys

text = open(sys.argv[1]).read()
snippets = re.findall(r"^```mlir\n(.*?)^```", text, re.S | re.M)
if not snippets:
    sys.exit(f"expected mlir snippets in {sys.argv[1]}, got none")
open(sys.argv[2], "w").write("".join(s + "// -----\n" for s in snippets))
