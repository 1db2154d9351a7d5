#!/usr/bin/env python3
"""Compiles the CUDA kernels with seeded faults, runs each mutant on the emulated device, and fails
unless every one is noticed. Usage: mutate.py COMPILER ROOT WORK_FOLDER [NAME...] (words of names)

Mutants are compiled many to a file, each in namespaces of its own, so that the standard library is
read once for all of them.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import mutants
import q8_mutants
import sm90_mutants

MUTANTS = mutants.MUTANTS + q8_mutants.MUTANTS + sm90_mutants.MUTANTS
KERNELS = ["attention_forward", "attention_decode", "attention_combine", "attention_fallback",
           "attention_tf32",
           "append_q8"]
SM90_KERNELS = ["attention_forward_sm90"]  # apart: less to compile for every mutant
FILES = 2
FLAGS = ["-std=c++20", "-O0", "-w", "-mavx2", "-mfma", "-mf16c"]


def plain(text):
    """Without comments, and with single spaces. Lines of the preprocessor stay lines."""
    text = re.sub(r"//[^\n]*", "", text)
    lines = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            lines.append("\n" + line.strip() + "\n")
        else:
            lines.append(" " + line)
    return re.sub(r"[ \t]+", " ", "".join(lines))


def without_includes(text):
    return re.sub(r"^#\s*(include|pragma)[^\n]*$", "", text, flags=re.M)


def closure(folder, kernels):
    """The headers of kernels and those they include from their folder, lower ones first."""
    order = []

    def visit(name):
        text = (folder / f"{name}.hpp").read_text()
        for below in re.findall(r"#\s*include <ashlar/cuda/(\w+)\.hpp>", text):
            visit(below)
        if name not in order:
            order.append(name)
    for kernel in kernels:
        visit(kernel)
    return order


def parts_of(runs):
    """The text before the first `// runs: NAME` line, and that of every such part."""
    pieces = re.split(r"^// runs: (\w+)\n", runs, flags=re.M)
    return pieces[0], dict(zip(pieces[1::2], pieces[2::2]))


def source_of(number, headers, cases, runs, which):
    """One mutant, or the kernels as they are, with the cases it is tried on."""
    common, parts = parts_of(runs)
    text = "".join(without_includes(h) for h in headers.values())
    text += without_includes(cases[0] + (cases[1] if "q8" in which else "")) + common
    for name in which:
        text += parts[name] + f"\nTEST(Mutant_{number}, {name}) {{ cuda_test::{name}_runs(); }}\n"
    text = text.replace("ASHLAR_ABI::cuda", f"ASHLAR_ABI::mutant_{number}")
    text = re.sub(r"(?<!\w)(ashlar::)?cuda::(?=[A-Z])", f"ashlar::mutant_{number}::", text)
    return text.replace("cuda_test", f"cuda_test_{number}")


def main():
    compiler, root, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    words = sys.argv[4:]
    include, tests = root / "include", root / "tests"
    work.mkdir(parents=True, exist_ok=True)
    folder = include / "ashlar/cuda"
    of_all, of_sm90 = ({h: plain((folder / f"{h}.hpp").read_text()) for h in closure(folder, kernels)}
                       for kernels in (KERNELS, SM90_KERNELS))
    cases = [(tests / f"cuda/{name}.hpp").read_text() for name in ("attention_case", "q8_case")]
    runs = "".join((tests / f"cuda/mutation/{name}.hpp").read_text()
                   for name in ("runs", "q8_runs", "sm90_runs"))
    case = cases[0]

    broken = []
    as_they_are = "the kernels as they are"
    chosen = [(0, as_they_are, of_all, ("forward", "decode", "fallback", "tf32", "q8")),
              (len(MUTANTS) + 1, as_they_are, of_sm90, ("sm90", "sm90_plain"))]
    for number, (name, header, old, new, which) in enumerate(MUTANTS, 1):
        if words and not any(w in name for w in words):
            continue
        original = of_sm90 if which[0].startswith("sm90") else of_all
        count = original[header].count(old)
        if count != 1:
            broken.append(f"{name}: {header}.hpp says it {count} times, expected once: {old}")
            continue
        chosen.append((number, name, {**original, header: original[header].replace(old, new)}, which))

    prelude = "".join(f"#include <{h}>\n" for h in sorted(set(re.findall(
        r"#\s*include <((?!ashlar/cuda/)[^>]+)>", case + "".join({**of_all, **of_sm90}.values())))))
    for header in ("ashlar/attention/mask/causal.hpp", "ashlar/attention/score/soft_cap.hpp"):
        prelude += f"#include <{header}>\n"
    for header in re.findall(r'#\s*include "([^"]+)"', case):
        prelude += f'#include "{header}"\n'.replace('"emulation/', '"cuda/emulation/')

    def build(index):
        path = work / f"mutants_{index}.cpp"
        text = prelude + "".join(source_of(n, s, cases, runs, w)
                                 for n, _, s, w in chosen[index::FILES])
        path.write_text(text)
        program = work / f"mutants_{index}"
        made = subprocess.run(
            [compiler, *FLAGS, f"-I{include}", f"-I{tests}", str(path), "-o", str(program),
             "-lgtest", "-lgtest_main", "-lpthread"], capture_output=True, text=True)
        return made.stderr if made.returncode else ""

    workers = min(2, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for errors in pool.map(build, range(FILES)):
            if errors:
                sys.exit("the mutants do not compile:\n" + errors[:2000])

        def run(position):
            number = chosen[position][0]
            try:
                made = subprocess.run(
                    [str(work / f"mutants_{position % FILES}"), f"--gtest_filter=Mutant_{number}.*",
                     "--gtest_print_time=0"], capture_output=True, text=True, timeout=60,
                    errors="replace")
            except subprocess.TimeoutExpired:
                return "does not end"
            if made.returncode == 0:
                return ""
            if made.returncode < 0:
                return f"signal {-made.returncode}"
            lines = [l for l in made.stdout.splitlines()
                     if re.search(r"\[block|differ|bank conflicts|strayed|written outside|Which|"
                                  r"after\[i\]", l)]
            return lines[0].strip()[:110] if lines else "test fails"
        verdicts = list(pool.map(run, range(len(chosen))))

    missed, faults = [], 0
    for (number, name, _, _), verdict in zip(chosen, verdicts):
        sound = name == as_they_are
        print(f"{name:55} {verdict or ('passes' if sound else 'NOT NOTICED')}")
        faults += not sound
        if sound and verdict:
            missed.append("the kernels as they are fail")
        elif not sound and not verdict:
            missed.append(name)
    print(f"{faults} seeded faults, {faults - len(missed)} noticed")
    for line in broken + missed:
        print("FAULT:", line)
    sys.exit(1 if broken or missed else 0)


if __name__ == "__main__":
    main()
