#!/usr/bin/env python3
"""No function or variable of ashlar is defined in both objects. Usage: no_shared_symbol.py NM A B"""
import subprocess
import sys


def symbols(nm, path):
    listing = subprocess.run([nm, "-C", "--defined-only", path], capture_output=True, text=True,
                             check=True).stdout
    named = (line.split(None, 2) for line in listing.splitlines())
    return {n[2] for n in named if len(n) == 3 and n[1] in "WVu" and "ashlar::" in n[2]}


def main():
    nm, *paths = sys.argv[1:]
    first, second = (symbols(nm, path) for path in paths)
    print(f"{len(first)} and {len(second)} inline symbols of ashlar")
    if not first or not second:
        sys.exit("an object has no inline symbol: this test checks nothing")
    if first & second:
        sys.exit("in both:\n" + "\n".join(sorted(first & second)))


if __name__ == "__main__":
    main()
