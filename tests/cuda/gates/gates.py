#!/usr/bin/env python3
"""Compiles the attention kernels and looks at what came out: no spills, no stack, no local memory,
registers within their budget, as many tensor-core instructions as the tiles have products, seconds
and memory of the compiler. Needs nvcc and no GPU.

Usage: gates.py NVCC INCLUDE WORK_FOLDER [--matrix] [--only KIND]    --matrix: all architectures, widths and functors
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import subprocess
import sys

import cubin

WIDTHS = [(64, 64), (128, 128), (192, 128), (192, 192), (256, 256)]
ARCHITECTURES = [80, 89, 90, 100, 120]
# Registers a thread: at most these on every architecture.
BUDGET = {("Forward", 64, 64): 248, ("Forward", 128, 128): 224, ("Forward", 192, 128): 208,
          ("Forward", 192, 192): 252, ("Forward", 256, 256): 255,
          ("Decode", 64, 64): 160, ("Decode", 128, 128): 192, ("Decode", 192, 128): 192,
          ("Decode", 192, 192): 224, ("Decode", 256, 256): 255,
          ("Tf32", 64, 64): 160, ("Tf32", 128, 128): 224, ("Combine",): 64, ("Fallback",): 112}
SECONDS, KIBIBYTES = 20, 1536 * 1024

PRELUDE = """#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/bitmap_mask.hpp>
#include <ashlar/attention/mask/block_mask.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/local_window.hpp>
#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/sequence.hpp>
#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/cuda/attention_combine.hpp>
#include <ashlar/cuda/attention_decode.hpp>
#include <ashlar/cuda/attention_fallback.hpp>
#include <ashlar/cuda/attention_forward.hpp>
#include <ashlar/cuda/attention_tf32.hpp>
#include <ashlar/cuda/kernel_shell.cuh>
namespace ashlar::cuda {
"""


def products(kind, Dk, Dv, scored):
    """mma.sync, of m16n8k16 but for tf32, of one step of a warp: scores, then values."""
    if kind == "Tf32":  # m16n8k8
        return (32 if max(Dk, Dv) <= 64 else 16) // 8 * (Dk + Dv) // 8
    if kind == "Decode":
        return 2 * (Dk // 16) + Dv // 8
    blocks = 2 if max(Dk, Dv) <= 64 and not scored else 1
    keys = 64 if max(Dk, Dv) <= 128 else 16 if max(Dk, Dv) > 192 and scored else 32
    return blocks * (keys // 8 * (Dk // 16) + Dv // 8 * (keys // 16))


def source(kind, widths, problems):
    text = PRELUDE
    dims = f", {widths[0]}, {widths[1]}" if widths else ""
    for n, (T, place, mask, score) in enumerate(problems):
        cache = place if "<" in place else f"{place}<{T}>"
        text += (f"using P{n} = AttentionProblem<{T}, {cache}, {mask}, {score}>;\n"
                 f"using K{n} = Attention{kind}<P{n}{dims}>;\n"
                 f"template __global__ void kernel_shell<K{n}>("
                 f"const __grid_constant__ K{n}::Arguments);\n")
    return text + "}\n"


PLAIN = [("bfloat16", "KeyRows", "CausalMask", "NoScore")]
FURTHER = [("half", "KeyRows", "NoMask", "NoScore"),
           ("half", "KeyPages", "CausalMask", "NoScore"),
           ("bfloat16", "KeyRows", "SlidingWindow", "SoftCap"),
           ("bfloat16", "KeyRows", "MaskOr<CausalMask, LocalWindow>",
            "ScoreSequence<SoftCap, Alibi>")]
# Masks from tables of bits take every register, and must still not spill.
TABLES = [("half", "KeyRows", "MaskAnd<CausalMask, BlockMask>", "NoScore"),
          ("bfloat16", "KeyPages", "MaskOr<BlockMask, BitmapMask>", "SoftCap")]
# Decoded into the tile of the product.
QUANTISED = [("bfloat16", "KeyRows<Q8_0>", "CausalMask", "NoScore"),
             ("half", "KeyPages<Q8_0>", "MaskOr<CausalMask, LocalWindow>",
              "ScoreSequence<SoftCap, Alibi>")]


def units(matrix):
    """The files to compile: what kernel, of what widths, with what text and registers at most."""
    problems = PLAIN + FURTHER if matrix else PLAIN
    for kind in ("Forward", "Decode"):
        for widths in WIDTHS if matrix else [(64, 64), (128, 128), (256, 256)]:
            yield kind, widths, source(kind, widths, problems), BUDGET[(kind, *widths)]
        for widths in WIDTHS if matrix else [(128, 128)]:
            yield kind, widths, source(kind, widths, TABLES), 255
    for widths in WIDTHS if matrix else [(128, 128)]:
        # Codes and scales on the way take a few more.
        yield "Decode", widths, source("Decode", widths, QUANTISED), min(
            255, BUDGET[("Decode", *widths)] + 12)
    for widths in ((64, 64), (128, 128)):
        floats = [("float", *p[1:]) for p in problems]
        yield "Tf32", widths, source("Tf32", widths, floats), BUDGET[("Tf32", *widths)]
    yield "Combine", None, source("Combine", None, problems), BUDGET[("Combine",)]
    yield "Fallback", None, source("Fallback", None, [("float", "KeyRows", "CausalMask", "NoScore"),
                                                      *problems, *TABLES, *QUANTISED]), BUDGET[("Fallback",)]


def compile_unit(nvcc, include, work, index, unit, architecture):
    """Returns the faults and a row of figures."""
    kind, widths, text, budget = unit
    path = work / f"{index}_{architecture}.cu"
    path.write_text(text)
    out = path.with_suffix(".cubin")
    log_path = path.with_suffix(".log")
    with open(log_path, "w") as log_file:
        made = subprocess.Popen(
            [nvcc, "-std=c++20", "-Werror", "all-warnings", f"-arch=sm_{architecture}", "-cubin",
             "-Xptxas", "-v", f"-I{include}", str(path), "-o", str(out)],
            stdout=log_file, stderr=subprocess.STDOUT)
        # Time of the processor, the compiler's children included: other work does not count.
        _, status, usage = os.wait4(made.pid, 0)
    made.returncode = os.waitstatus_to_exitcode(status)
    log = log_path.read_text()
    seconds = usage.ru_utime + usage.ru_stime
    label = f"{kind}{' %d/%d' % widths if widths else ''}, sm_{architecture}"
    if made.returncode:
        return [f"{label}: {log[:400]}"], None
    faults = []
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    for what in ("bytes stack frame", "bytes spill stores", "bytes spill loads"):
        most = max(int(n) for n in re.findall(rf"(\d+) {what}", log))
        if most:
            faults.append(f"{label}: {most} {what}")
    if max(registers) > budget:
        faults.append(f"{label}: {max(registers)} registers, budget {budget}")
    kernels = list(cubin.histograms(out))
    if len(kernels) != len(registers) or not kernels:
        faults.append(f"{label}: {len(kernels)} kernels, {len(registers)} reported")
    most = products(kind, *widths, False) if widths else 0
    for name, ops in kernels:
        want = products(kind, *widths, "NoScore" not in name) if widths else 0
        if ops["HMMA"] != want:
            faults.append(f"{label}: {ops['HMMA']} tensor-core instructions, expected {want} ({name})")
        if ops["LDL"] or ops["STL"]:
            faults.append(f"{label}: {ops['LDL'] + ops['STL']} accesses to local memory ({name})")
    if seconds > SECONDS:
        faults.append(f"{label}: {seconds:.1f} s to compile, at most {SECONDS}")
    size = sum(sum(ops.values()) for _, ops in kernels) // max(1, len(kernels))
    return faults, (label, len(kernels), max(registers), most, size, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nvcc")
    parser.add_argument("include", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--matrix", action="store_true")
    parser.add_argument("--only", default="", help="Forward, Decode, Combine or Fallback")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    architectures = ARCHITECTURES if options.matrix else [80, 90]
    jobs = [(i, unit, a) for i, unit in enumerate(units(options.matrix)) for a in architectures
            if options.only in unit[0]]
    faults, kernels = [], 0
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        results = pool.map(lambda j: compile_unit(options.nvcc, options.include, options.work, *j),
                           jobs)
        print(f"{'kernel':28} kernels registers products instructions seconds")
        for found, row in results:
            faults += found
            if row:
                kernels += row[1]
                print(f"{row[0]:28} {row[1]:7} {row[2]:9} {row[3]:8} {row[4]:12} {row[5]:7.1f}",
                      flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{kernels} kernels in {len(jobs)} files; {peak // 1024} MiB at most")
    if peak > KIBIBYTES:
        faults.append(f"the compiler took {peak // 1024} MiB, at most {KIBIBYTES // 1024}")
    for fault in faults:
        print("FAULT:", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
