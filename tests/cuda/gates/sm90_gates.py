#!/usr/bin/env python3
"""Compiles the attention kernel of sm_90a and looks at what came out: no spills, no stack, no local
memory, no warning of ptxas about products that wait for each other, as many products, copies and
shifts of registers as the plan has, within the registers of a multiprocessor; seconds and memory of
the compiler. Compiled for plain sm_90 it must be empty. Needs nvcc and no GPU.

Usage: sm90_gates.py NVCC INCLUDE WORK_FOLDER [--matrix]         --matrix: all widths and functors
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
import gates

PRELUDE = gates.PRELUDE.replace("kernel_shell.cuh", "launch_sm90.cuh").replace(
    "#include <ashlar/cuda/attention_forward.hpp>", "#include <ashlar/cuda/attention_sm90_route.hpp>")
# Of products that ptxas serialises or fences by itself, and register shifts that it ignores.
COMPLAINT = re.compile(r"C75\d\d[^\n]*|setmaxnreg[^\n]*ignored[^\n]*")
PLAIN = [("bfloat16", "CausalMask", "NoScore")]
FURTHER = [("half", "NoMask", "NoScore"), ("bfloat16", "SlidingWindow", "SoftCap"),
           ("half", "MaskOr<CausalMask, LocalWindow>", "ScoreSequence<SoftCap, Alibi>")]
TABLES = [("half", "MaskAnd<CausalMask, BlockMask>", "NoScore"),
          ("bfloat16", "MaskOr<BlockMask, BitmapMask>", "SoftCap")]


def source(widths, problems):
    text = PRELUDE
    for n, (T, mask, score) in enumerate(problems):
        text += (f"using P{n} = AttentionProblem<{T}, KeyRows<{T}>, {mask}, {score}>;\n"
                 f"using K{n} = AttentionForwardSm90<P{n}, {widths[0]}, {widths[1]}>;\n"
                 f"template __global__ void sm90_kernel_shell<K{n}>("
                 f"const __grid_constant__ K{n}::Mapped);\n")
    return text + "}\n"


def plan(Dk, Dv, scored):
    """What attention_sm90_plan.hpp chooses: consumers, keys, whether schedules overlap."""
    narrow, wide, widest = max(Dk, Dv) <= 64, min(Dk, Dv) > 128, max(Dk, Dv) > 192
    return (3 if narrow and not scored else 2,
            80 if widest else 96 if wide or (scored and not narrow) else 128,
            not widest and not (wide and scored))


def expected(Dk, Dv, scored):
    """Instructions of the kernel. An overlapped loop has its first scores and last values apart."""
    _, keys, overlapped = plan(Dk, Dv, scored)
    times = 2 if overlapped else 1
    return {"HGMMA of tiles": times * Dk // 16, "HGMMA of registers": times * keys // 16,
            "UTMALDG": 3 * Dk // 64 + Dv // 64, "USETMAXREG": 2, "HMMA": 0, "LDL": 0, "STL": 0}


def compile_unit(nvcc, include, work, job):
    """Returns the faults and a row of figures."""
    index, widths, problems, architecture = job
    path = work / f"{index}_{architecture}.cu"
    path.write_text(source(widths, problems))
    out, log_path = path.with_suffix(".cubin"), path.with_suffix(".log")
    with open(log_path, "w") as log_file:
        made = subprocess.Popen(
            [nvcc, "-std=c++20", "-Werror", "all-warnings", f"-arch=sm_{architecture}", "-cubin",
             "-Xptxas", "-v", f"-I{include}", str(path), "-o", str(out)],
            stdout=log_file, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(made.pid, 0)
    made.returncode = os.waitstatus_to_exitcode(status)
    log, seconds = log_path.read_text(), usage.ru_utime + usage.ru_stime
    label = f"{widths[0]}/{widths[1]}, sm_{architecture}"
    if made.returncode:
        return [f"{label}: {log[:400]}"], None
    faults = [f"{label}: {complaint}" for complaint in COMPLAINT.findall(log)]
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    for what in ("bytes stack frame", "bytes spill stores", "bytes spill loads"):
        for n in re.findall(rf"(\d+) {what}", log):
            if int(n):
                faults.append(f"{label}: {n} {what}")
    kernels = list(cubin.histograms(out))
    if len(kernels) != len(registers) or len(kernels) != len(problems):
        faults.append(f"{label}: {len(kernels)} kernels, {len(problems)} expected")
    size = sum(sum(ops.values()) for _, ops in kernels) // max(1, len(kernels))
    if architecture == "90":
        if size > 64:
            faults.append(f"{label}: {size} instructions where there is no kernel")
        return faults, (label, len(kernels), max(registers), size, seconds)
    for (name, ops), used in zip(kernels, registers):
        scored = "NoScore" not in name
        for what, count in expected(*widths, scored).items():
            if ops[what] != count:
                faults.append(f"{label}: {ops[what]} {what}, expected {count} ({name})")
        consumers = plan(*widths, scored)[0]
        if used * 128 * (consumers + 1) > 65536:
            faults.append(f"{label}: {used} registers for {consumers + 1} warpgroups")
    if seconds > gates.SECONDS:
        faults.append(f"{label}: {seconds:.1f} s to compile, at most {gates.SECONDS}")
    return faults, (label, len(kernels), max(registers), size, seconds)


def check_register_lists(include):
    """Every product names registers 0, 1, 2 .. and d[0][0], d[0][1] .. in order, N / 2 of each."""
    faults = []
    for name in ("wgmma_shared", "wgmma_registers"):
        text = (include / f"ashlar/cuda/{name}.cuh").read_text()
        products = re.findall(r"asm volatile\((.*?)\);\n", text, re.S)
        if not products:
            faults.append(f"{name}.cuh has no products")
        for product in products:
            n = int(re.search(r"m64n(\d+)k16", product).group(1))
            strings = "".join(re.findall(r'"([^"]*)"', product.split("\n      :")[0]))
            listed = re.search(r"k16\.f32\.[^{]*\{([^}]*)\}", strings).group(1)
            sums = re.findall(r'"\+f"\(d\[(\d+)\]\[(\d+)\]\)', product)
            if listed.replace(" ", "") != ",".join(f"%{i}" for i in range(n // 2)):
                faults.append(f"{name}.cuh, n {n}: registers are not in order")
            if sums != [(str(i // 4), str(i % 4)) for i in range(n // 2)]:
                faults.append(f"{name}.cuh, n {n}: sums are not in order")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nvcc")
    parser.add_argument("include", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--matrix", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.matrix:
        groups = [(w, p) for w in gates.WIDTHS for p in (PLAIN + FURTHER, TABLES)]
    else:
        groups = [((64, 64), PLAIN), ((128, 128), PLAIN + FURTHER[2:]), ((256, 256), PLAIN)]
    jobs = [(i, w, p, "90a") for i, (w, p) in enumerate(groups)]
    jobs.append((len(jobs), (128, 128), PLAIN, "90"))
    faults = check_register_lists(options.include)
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        print(f"{'kernel':20} kernels registers instructions seconds")
        for found, row in pool.map(
                lambda j: compile_unit(options.nvcc, options.include, options.work, j), jobs):
            faults += found
            if row:
                print(f"{row[0]:20} {row[1]:7} {row[2]:9} {row[3]:12} {row[4]:7.1f}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{peak // 1024} MiB at most")
    if peak > gates.KIBIBYTES:
        faults.append(f"the compiler took {peak // 1024} MiB")
    for fault in faults:
        print("FAULT:", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
