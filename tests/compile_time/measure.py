#!/usr/bin/env python3
"""Compiles a program and reports the compiler's user time and the size of the code.

measure.py COMPILER LIMIT SOURCE INCLUDE_FOLDER..; fails when it does not compile, or takes more than
LIMIT seconds, which is far above a quiet machine's time: it finds a cliff, not a slope.
"""
import os
import resource
import subprocess
import sys
import tempfile

compiler, limit, source, *folders = sys.argv[1:]
flags = ["-std=c++20", "-O2"]
if "x86" in os.uname().machine:
    flags += ["-mavx2", "-mfma", "-mf16c"]
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "program.o")
    done = subprocess.run([compiler, *flags, *(f"-I{f}" for f in folders), "-c", source, "-o", program])
    if done.returncode != 0:
        sys.exit(f"{source} does not compile")
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    print(f"{os.path.basename(source)}: {seconds:.1f} s, {os.path.getsize(program) / 1024:.0f} KiB of object code")
if seconds > float(limit):
    sys.exit(f"expected at most {limit} s")
