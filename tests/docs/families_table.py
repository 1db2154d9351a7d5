#!/usr/bin/env python3
"""Holds docs/families.md against what the program `families` prints.

Usage: families_table.py PROGRAM GOLDEN_FOLDER DOCUMENT [--write]

The table stands between <!-- families --> and <!-- end -->. Choices must be the same word by word;
measured errors, which another processor may round otherwise, within a factor of two.
"""
import re
import subprocess
import sys

ERROR = re.compile(r"\d\.\de[+-]\d\d")


def main():
    program, golden, document = sys.argv[1:4]
    table = subprocess.run([program, "--golden", golden], capture_output=True, text=True, check=True).stdout
    with open(document, encoding="utf-8") as file:
        text = file.read()
    begin, end = "<!-- families -->\n", "<!-- end -->"
    first, rest = text.split(begin)
    shown, last = rest.split(end, 1)
    if "--write" in sys.argv[4:]:
        with open(document, "w", encoding="utf-8") as file:
            file.write(first + begin + table + end + last)
        return
    if ERROR.sub("#", shown) != ERROR.sub("#", table):
        for old, new in zip(shown.splitlines(), table.splitlines()):
            if ERROR.sub("#", old) != ERROR.sub("#", new):
                print(f"document: {old}\nprogram:  {new}")
        sys.exit(f"{document} is not what the program prints: run {sys.argv[0]} with --write")
    for old, new in zip(ERROR.findall(shown), ERROR.findall(table)):
        if not 0.5 <= (float(new) + 1e-12) / (float(old) + 1e-12) <= 2:
            sys.exit(f"{document} says an error of {old}, measured {new}")
    print(f"{len(table.splitlines()) - 2} rows are as the program prints them")


if __name__ == "__main__":
    main()
