#!/usr/bin/env python3
"""Checks one case. Usage: check.py COMPILER CASE.cpp INCLUDE_FOLDER...

The case begins with `// expect: REGEX` and may go on with `// flags: ...` (for the failing build).
"""
import re
import subprocess
import sys

MAX_LINES = 30


def compile_case(compiler, case, folders, flags):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-fno-diagnostics-color"]
    command += ["-I" + folders[0], *("-isystem" + f for f in folders[1:]), *flags, case]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    compiler, case, *folders = sys.argv[1:]
    with open(case, encoding="utf-8") as file:
        text = file.read()
    expect = re.search(r"^// expect: (.+)$", text, re.M)
    flags = re.search(r"^// flags: (.+)$", text, re.M)
    if not expect:
        sys.exit(f"{case}: no line `// expect: REGEX`")

    code, output = compile_case(compiler, case, folders, flags.group(1).split() if flags else [])
    lines = output.count("\n")
    print(output)
    if code == 0:
        sys.exit("it compiles, but must not")
    if not re.search(expect.group(1), output):
        sys.exit(f"the diagnostic does not match: {expect.group(1)}")
    if lines > MAX_LINES:
        sys.exit(f"the diagnostic has {lines} lines, at most {MAX_LINES}")

    code, output = compile_case(compiler, case, folders, ["-DFIXED"])
    if code != 0:
        sys.exit(output + "with -DFIXED it must compile")
    print(f"refused in {lines} lines")


if __name__ == "__main__":
    main()
