#!/usr/bin/env python3
"""Checks the rules of the tree that no compiler checks. Usage: layers.py INCLUDE_FOLDER

A header includes only lower layers or its own folder; .hpp never includes .cuh; nn and models never
include kernels; nothing outside kernels and the entry headers includes a third-party header; at most
12 macros, all ASHLAR_, all in config.hpp and version.hpp; no header over 400 lines; every public
function in ops that takes a view has a Shapes line in its comment.
"""
import re
import sys
from pathlib import Path

LAYERS = {
    "version.hpp": 0, "config.hpp": 0, "core": 1, "backend": 2,
    "attention": 3, "ops": 3, "weights": 3, "kernels": 4, "cuda": 4,
    "simd.hpp": 5, "eigen.hpp": 5, "openmp.hpp": 5, "cuda.hpp": 5,
    "cuda.cuh": 5,
    "nn": 6, "models": 6, "interop": 7, "ashlar.hpp": 7,
}
# Folders of one layer that may include each other, one way: the first includes the second.
SAME_LAYER = {("ops", "attention"), ("ops", "weights"), ("models", "nn")}
THIRD_PARTY = {"xsimd": {"kernels/simd", "simd.hpp"}, "Eigen": {"kernels/eigen", "eigen.hpp"},
               "omp.h": {"openmp.hpp"}, "cuda_runtime.h": {"cuda/", "cuda.cuh"},
               "cublasLt.h": {"cuda/"}, "cuda.h": {"cuda/"}}
SYSTEM = re.compile(r"^([a-z0-9_]+|sys/[a-z]+\.h|(fcntl|unistd|immintrin|arm_neon|windows)\.h)$")
MACRO_HEADERS = {"config.hpp", "version.hpp"}
MAX_MACROS = 12
MAX_LINES = 400


def part_of(path):
    """The first folder below ashlar/, or the name of a header that stands there itself."""
    return path.parts[0]


def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def check_includes(path, text, report):
    here = part_of(path)
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.M):
        if not name.startswith("ashlar/"):
            third = next((lib for lib in THIRD_PARTY if name == lib or name.startswith(lib + "/")),
                         None)
            if third:
                if not any(path.as_posix().startswith(place) for place in THIRD_PARTY[third]):
                    report(f"{path}: includes <{name}>, allowed only in "
                           f"{sorted(THIRD_PARTY[third])}")
            elif not SYSTEM.match(name):
                report(f"{path}: includes <{name}>, which is no standard header")
            continue
        there_path = Path(name[len("ashlar/"):])
        there = part_of(there_path)
        if path.suffix == ".hpp" and there_path.suffix == ".cuh":
            report(f"{path}: a .hpp includes the .cuh {name}")
        if here not in LAYERS or there not in LAYERS:
            report(f"{path}: no layer is known for {here if here not in LAYERS else there}")
        elif here in ("nn", "models") and there == "kernels":
            report(f"{path}: includes {name}; only entry headers know kernels")
        elif LAYERS[there] > LAYERS[here]:
            report(f"{path} (layer {LAYERS[here]}): includes {name} (layer {LAYERS[there]})")
        elif LAYERS[there] == LAYERS[here] and here != there and \
                (here, there) not in SAME_LAYER and not here.endswith(".hpp"):
            report(f"{path}: includes {name}, another folder of its layer")


def check_shapes(path, text, report):
    """Every function of namespace ashlar itself that takes a view says its Shapes."""
    scopes = []  # of the braces open here: the words of a namespace, or None for anything else
    comment, statement = [], ""
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("///") and not statement.strip():
            comment.append(bare)
        if bare.startswith(("//", "#")):
            continue
        for char in re.sub(r'//.*|"(\\.|[^"\\])*"', "", line) + " ":
            if char == "{":
                namespace = re.match(r"\s*namespace\s+([\w:\s]+)$", statement)
                function = re.search(r"(\w+)\s*\([^;]*\w*View\b", statement)
                public = all(s and s <= {"ashlar", "inline", "ASHLAR_ABI"} for s in scopes)
                if public and function and not namespace and \
                        not re.search(r"\b(class|struct|concept)\s+\w+[^()]*[^()>,]$|\bconcept\b",
                                      re.sub(r"template\s*<[^()]*>", "", statement)) and \
                        not any("Shapes" in c for c in comment):
                    report(f"{path}: public function {function.group(1)} has no Shapes line in its "
                           f"comment")
                scopes.append(set(re.split(r"[:\s]+", namespace.group(1).strip()))
                              if namespace else None)
                statement, comment = "", []
            elif char == "}":
                if scopes:
                    scopes.pop()
                statement = ""
            elif char == ";":
                statement, comment = "", []
            else:
                statement += char


def check_tree(include):
    problems = []
    root = Path(include) / "ashlar"
    headers = sorted(p for p in root.rglob("*") if p.suffix in (".hpp", ".cuh"))
    if not headers:
        problems.append(f"no header under {root}")
    macros = set()
    for header in headers:
        path = header.relative_to(root)
        text = header.read_text(encoding="utf-8")
        code = strip_comments(text)
        lines = text.count("\n")
        if lines > MAX_LINES:
            problems.append(f"{path}: {lines} lines, at most {MAX_LINES}")
        if "#pragma once" not in code:
            problems.append(f"{path}: no #pragma once")
        for macro in re.findall(r"^\s*#\s*define\s+(\w+)", code, re.M):
            macros.add(macro)
            if not macro.startswith("ASHLAR_"):
                problems.append(f"{path}: macro {macro} does not begin with ASHLAR_")
            if path.as_posix() not in MACRO_HEADERS and \
                    not re.search(rf"^\s*#\s*undef\s+{macro}\b", code, re.M):
                problems.append(f"{path}: macro {macro} is defined outside {sorted(MACRO_HEADERS)}")
        check_includes(path, code, problems.append)
        if part_of(path) == "ops":
            check_shapes(path, text, problems.append)
    if len(macros) > MAX_MACROS:
        problems.append(f"{len(macros)} macros, at most {MAX_MACROS}: {sorted(macros)}")
    return problems


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = check_tree(sys.argv[1])
    print("\n".join(found) or "layers: all rules hold")
    sys.exit(1 if found else 0)
