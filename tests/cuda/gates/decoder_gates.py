#!/usr/bin/env python3
"""Compiles the kernels of a decoder other than attention and looks at what came out: no spills, no
stack, no local memory, seconds of the compiler. Needs nvcc and no GPU.

Usage: decoder_gates.py NVCC INCLUDE WORK_FOLDER [ARCHITECTURE...]    80 and 90 without
"""
import os
import pathlib
import re
import subprocess
import sys

import cubin

SECONDS = 20
TYPES = ("float", "half", "bfloat16")
ACTIVATIONS = ("Relu", "ReluSquared", "Sigmoid", "Silu", "Gelu", "GeluTanh", "GeluQuick")


def kernels():
    """Header, and the types of the kernels that it is compiled for."""
    norms = [f"NormRows<NormKind::{kind}, {T}, gain::{rule}, {add}, 8, {held}>"
             for kind, T, rule, held in (
                 ("rms", "bfloat16", "AfterRounding", 1), ("rms", "bfloat16", "AfterRounding", 8),
                 ("rms", "half", "PlusOne", 4), ("rms", "float", "None", 8),
                 ("layer", "bfloat16", "BeforeRounding", 8), ("layer", "half", "PlusOne", 2),
                 ("layer", "float", "BeforeRounding", 4))
             for add in ("false", "true")]
    yield "norm_rows", norms
    yield "norm_rows", [  # as launch_norm chooses them
        f"NormRows<NormKind::rms, {T}, gain::AfterRounding, {add}, {warps}, {held}>"
        for T in TYPES for add in ("false", "true") for warps, held in ((1, 1), (4, 2), (8, 4))]
    yield "elementwise", (
        [f"Elementwise<element::Gate<act::{f}>, bfloat16>" for f in ACTIVATIONS] +
        [f"Elementwise<element::Activation<act::{f}>, half>" for f in ACTIVATIONS] +
        [f"Elementwise<element::{op}, {T}>" for op in ("AddBias", "AddBranch", "AddScaledBranch")
         for T in TYPES])
    yield "step_rows", ["BeginStep", "RopeRows", "PositionTokens"]
    yield "rope_append", [
        f"RopeAppend<{T}, {cache}<{E}>, RopePairing::{pairing}>"
        for T, E in (("bfloat16", "bfloat16"), ("half", "half"), ("float", "float"))
        for cache in ("KeyRows", "KeyPages") for pairing in ("half_split", "interleaved")]
    yield "append_q8", [f"AppendQ8<{T}, {cache}<Q8_0>>"
                        for T in TYPES for cache in ("KeyRows", "KeyPages")]
    for weights in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1"):
        yield "gemv", [f"Gemv<DType::{weights}, {T}, {Y}, {rows}>"
                       for T, Y in (("bfloat16", "bfloat16"), ("half", "half"), ("float", "float"))
                       for rows in (1, 2, 4, 8)]
    yield "embedding_rows", [
        f"EmbeddingRows<DType::{weights}, WeightLayout::{layout}, {T}>"
        for weights in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1") for layout in ("rows", "panels")
        for T in TYPES]
    yield "unpack_rows", [f"UnpackRows<DType::{weights}, {T}>"
                          for weights in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1")
                          for T in TYPES]
    yield "sample_rows", [f"SampleRows<{T}, 16>" for T in TYPES]


def check(nvcc, include, path, header, types, architecture):
    """Returns faults, and prints a row of figures."""
    text = (f"#include <ashlar/cuda/kernel_shell.cuh>\n#include <ashlar/cuda/{header}.hpp>\n"
            "namespace ashlar::cuda {\n")
    for n, name in enumerate(types):
        text += (f"using K{n} = {name};\ntemplate __global__ void kernel_shell<K{n}>("
                 f"const __grid_constant__ K{n}::Arguments);\n")
    path.write_text(text + "}\n")
    out, label = path.with_suffix(".cubin"), f"{path.stem}, sm_{architecture}"
    before = sum(os.times()[2:4])
    made = subprocess.run(
        [nvcc, "-std=c++20", "-Werror", "all-warnings", f"-arch=sm_{architecture}", "-cubin",
         "-Xptxas", "-v", f"-I{include}", str(path), "-o", str(out)],
        capture_output=True, text=True, check=False)
    seconds = sum(os.times()[2:4]) - before  # of the processor
    log = made.stdout + made.stderr
    if made.returncode:
        return [f"{label}: {log[:400]}"]
    faults = []
    for what in ("bytes stack frame", "bytes spill stores", "bytes spill loads"):
        most = max(int(n) for n in re.findall(rf"(\d+) {what}", log))
        if most:
            faults.append(f"{label}: {most} {what}")
    found = list(cubin.histograms(out))
    if len(found) != len(types):
        faults.append(f"{label}: {len(found)} kernels, expected {len(types)}")
    for name, ops in found:
        if ops["LDL"] or ops["STL"]:
            faults.append(f"{label}: {ops['LDL'] + ops['STL']} accesses to local memory ({name})")
    if seconds > SECONDS:
        faults.append(f"{label}: {seconds:.1f} s to compile, at most {SECONDS}")
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    print(f"{label:28} {len(found):7} {min(registers):4} to {max(registers):3} {seconds:7.1f}",
          flush=True)
    return faults


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    nvcc, include, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    print(f"{'kernels':28} {'number':>7} registers   seconds")
    faults = []
    for architecture in sys.argv[4:] or ("80", "90"):
        for n, (header, types) in enumerate(kernels()):
            faults += check(nvcc, include, work / f"{header}_{n}.cu", header, types, architecture)
    for fault in faults:
        print("FAULT:", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
