#!/usr/bin/env python3
"""Writes unicode_ranges.hpp, next to this script, from the interpreter's `unicodedata`.

Only the version below is accepted, so that the tables change on purpose and never with the machine.
"""

import pathlib
import sys
import unicodedata

VERSION = "14.0.0"
# unicodedata has no White_Space property and str.isspace() is wider: it takes U+001C to U+001F too.
WHITE_SPACE = [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B),
               0x2028, 0x2029, 0x202F, 0x205F, 0x3000]  # fmt: skip


def bounds(members):
    """First code point of each run of members and the one after its last, in one rising list."""
    members = set(members)
    edges = []
    for code in range(0x110001):
        if (code in members) != (len(edges) % 2 == 1):
            edges.append(code)
    return edges


def table(name, what, members):
    lines = []
    edges = bounds(members)
    for edge in edges:
        text = f"{edge:#x},"
        if lines and len(lines[-1]) + 1 + len(text) <= 96:
            lines[-1] += " " + text
        else:
            lines.append(text)
    body = "\n".join("    " + line for line in lines)
    comment = f"/// {what}: {len(edges) // 2} ranges.\n"
    return f"{comment}inline constexpr char32_t {name}[] = {{\n{body}\n}};\n"


def category(letter):
    return (c for c in range(0x110000) if unicodedata.category(chr(c))[0] == letter)


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"got Unicode {unicodedata.unidata_version} of this Python, expected {VERSION}")
    parts = [
        f"// Unicode {VERSION} character classes. Written by make_unicode_ranges.py: do not edit.\n"
        "//\n"
        "// A table lists, in rising order, where a class begins and where it ends (one past it).\n"
        "#pragma once\n\n"
        "namespace ashlar::examples {\n\n// clang-format off\n",
        table("letter_bounds", "General category L", category("L")),
        "\n",
        table("number_bounds", "General category N", category("N")),
        "\n",
        table("white_space_bounds", "Property White_Space", WHITE_SPACE),
        "// clang-format on\n\n}  // namespace ashlar::examples\n",
    ]
    pathlib.Path(__file__).with_name("unicode_ranges.hpp").write_text("".join(parts), "ascii")


if __name__ == "__main__":
    main()
