#!/usr/bin/env python3
"""Writes the C++ programs of a Markdown file to files: extract.py README.md OUT_FOLDER

A program is a fenced cpp block with a main function. Fails where there is none."""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
out = pathlib.Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
programs = [b for b in re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S) if "int main(" in b]
if not programs:
    sys.exit(f"{sys.argv[1]}: no program found")
for i, program in enumerate(programs):
    path = out / f"{pathlib.Path(sys.argv[1]).stem.lower()}_{i}.cpp"
    if not path.exists() or path.read_text() != program:
        path.write_text(program)
