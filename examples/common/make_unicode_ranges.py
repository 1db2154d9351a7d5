#!/usr/bin/env python3
"""Writes unicode_ranges.hpp and unicode_folding.hpp, next to this script, from `unicodedata`.

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


def array(comment, head, numbers):
    lines = []
    for number in numbers:
        text = f"{number:#x}," if number else "0,"
        if lines and len(lines[-1]) + 1 + len(text) <= 96:
            lines[-1] += " " + text
        else:
            lines.append(text)
    body = "\n".join("    " + line for line in lines)
    return f"/// {comment}\ninline constexpr {head}[] = {{\n{body}\n}};\n"


def table(name, what, members):
    edges = bounds(members)
    return array(f"{what}: {len(edges) // 2} ranges.", f"char32_t {name}", edges)


def category(*prefixes):
    return (c for c in range(0x110000) if unicodedata.category(chr(c)).startswith(prefixes))


def fold(code):
    """Canonical decomposition without nonspacing marks, in lower case."""
    parts = unicodedata.normalize("NFD", chr(code))
    return [ord(d) for c in parts if unicodedata.category(c) != "Mn" for d in c.lower()
            if unicodedata.category(d) != "Mn"]  # fmt: skip


def folding():
    """Runs of neighbours that change: where each begins and ends, its values, and what a value of
    several characters stands for. Hangul is left out, it decomposes by a rule; so are marks."""
    runs, values, sequences = [], [], []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or 0xAC00 <= code < 0xD7A4:
            continue
        folded = fold(code)
        if folded == [code] or unicodedata.category(chr(code)) == "Mn":
            continue
        assert 1 <= len(folded) <= 3
        if not runs or runs[-1] != code:
            runs += [code, code]
        runs[-1] = code + 1
        if len(folded) > 1:
            values.append(0x110000 + len(sequences) // 3)
            sequences += (folded + [0])[:3]
        else:
            values += folded
    return runs, values, sequences


def write(name, what, parts):
    text = (
        f"// Unicode {VERSION} {what}. Written by make_unicode_ranges.py: do not edit.\n"
        "//\n"
        "// Bounds list, in rising order, where a class begins and where it ends (one past it).\n"
        "#pragma once\n\n"
        "namespace ashlar::examples {\n\n// clang-format off\n"
        + "\n".join(parts)
        + "// clang-format on\n\n}  // namespace ashlar::examples\n"
    )
    pathlib.Path(__file__).with_name(name).write_text(text, "ascii")


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"got Unicode {unicodedata.unidata_version} of this Python, expected {VERSION}")
    write("unicode_ranges.hpp", "character classes", [
        table("letter_bounds", "General category L", category("L")),
        table("number_bounds", "General category N", category("N")),
        table("punctuation_bounds", "General category P", category("P")),
        table("nonspacing_mark_bounds", "General category Mn", category("Mn")),
        table("control_bounds", "General categories Cc, Cf and Co", category("Cc", "Cf", "Co")),
        table("white_space_bounds", "Property White_Space", WHITE_SPACE),
    ])  # fmt: skip
    runs, values, sequences = folding()
    write("unicode_folding.hpp", "letters without case and accents", [
        array("What folding changes, Hangul and marks aside.", "char32_t folding_bounds", runs),
        array("What it becomes, by position in those ranges. From 0x110000 on: a folding sequence.",
              "char32_t folding_values", values),
        array("Three characters each, 0 where there is none.", "char32_t folding_sequences",
              sequences),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
