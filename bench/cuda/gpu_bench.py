#!/usr/bin/env python3
"""Measures the CUDA kernels on the GPU of this machine, unattended: the ceilings of copies and
products, attention, decoding, kernels bound by memory; beside PyTorch's attention (FLASH, CUDNN) and
flash_attn where they are installed, in one process and in turns. Results are compared before they
are timed. A table on stdout, JSON in OUT/bench.json. Exit code: 0, 1 for a wrong result, 77 no nvcc
or no GPU.

Times are medians of CUDA events around graphs of at least a millisecond, with the tenth and
ninetieth percentile; operations are 4 B N T S H, half of it causal, and bytes of decoding are keys
and values."""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/gpu"))
import device  # noqa: E402
from library import Library, Torch  # noqa: E402

# What the kernels are made for, on an H200.
FORWARD_GOALS = {64: 470, 128: 620, 256: 690}  # TFLOP/s of whole rows of 16k tokens
DECODE_GOAL, DECODE_BYTES = 0.85, 64 << 20     # of the copy's bandwidth, from this size on
MOST_ERROR = 2e-5                              # squared, relative: two roundings to bfloat16


def build(options):
    """The library for this device."""
    nvcc = device.find_nvcc()
    gpu = device.find_gpu(nvcc)
    flags = device.target(nvcc, gpu["architecture"])
    work = options.out / "bench"
    work.mkdir(parents=True, exist_ok=True)

    def compile_one(name):
        made = subprocess.run(
            [nvcc, "-std=c++20", "-O3", "-Xcompiler=-fPIC", *flags, f"-I{ROOT}/include", "-c",
             str(HERE / f"{name}.cu"), "-o", str(work / f"{name}.o")],
            capture_output=True, text=True, check=False)
        return (made.stdout + made.stderr)[:2000] if made.returncode else ""

    def link(out, names, *libraries):
        made = subprocess.run([nvcc, "-shared", *flags, *(str(work / f"{n}.o") for n in names), "-o",
                               str(work / out), *libraries], capture_output=True, text=True,
                              check=False)
        return (made.stdout + made.stderr)[:2000] if made.returncode else ""

    names = ["runtime", "attention", "decode", "rows", "gemm"]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        said = dict(zip(names, pool.map(compile_one, names)))
    faults = [f"{n}: {text}" for n, text in said.items() if text and n != "gemm"]
    if not faults and (text := link("libashlar_bench.so", names[:4])):
        faults = [text]
    if faults:
        sys.exit("gpu-bench: the library does not build: " + faults[0])
    no_gemm = said["gemm"] or link("libashlar_gemm.so", ["gemm", "runtime"], "-lcublasLt")
    return work / "libashlar_bench.so", None if no_gemm else work / "libashlar_gemm.so", gpu, nvcc


class Bench:
    def __init__(self, options, library, torch, gemm):
        self.options, self.library, self.torch, self.gemm = options, library, torch, gemm
        self.place = torch or library  # where memory, streams and graphs come from
        self.end = time.time() + options.seconds
        self.cases, self.wrong = [], []
        self.workspace = self.place.memory(256 << 20)
        self.copy_rate = None

    # --- one case -----------------------------------------------------------------------------
    def measure(self, calls, seconds):
        """Seconds of a call for each implementation; those that fail are left out with a reason."""
        ready, reasons, times = {}, {}, {}
        for name, call in calls.items():
            try:
                ready[name] = self.place.graph(call)
            except Exception as error:  # whatever another library throws
                reasons[name] = str(error).strip().splitlines()[0][:120] if str(error) else "fails"
        begin, rounds = time.time(), 0
        while ready and (rounds < 5 or (rounds < 30 and time.time() - begin < seconds)):
            order = list(ready)
            order = order[rounds % len(order):] + order[:rounds % len(order)]
            for name in order:
                taken = ready[name].run()
                if rounds:  # the first round warms up
                    times.setdefault(name, []).append(taken)
            rounds += 1
            if rounds >= 3 and time.time() > self.end + 30:
                break
        return times, reasons

    def case(self, kind, about, calls, work, unit, share):
        """Measures and prints a case. `work` over seconds is the rate, in `unit`s."""
        times, reasons = self.measure(calls, share)
        results = {}
        for name, seconds in times.items():
            tenths = statistics.quantiles(seconds, n=10) if len(seconds) > 1 else seconds * 9
            results[name] = {"us": statistics.median(seconds) * 1e6, "p10_us": tenths[0] * 1e6,
                             "p90_us": tenths[-1] * 1e6, "rounds": len(seconds),
                             "rate": work / statistics.median(seconds) / unit[1]}
        self.cases.append({"kind": kind, **about, "unit": unit[0], "results": results,
                           "absent": reasons})
        text = " ".join(f"{k} {v}" for k, v in about.items())
        for name, r in results.items():
            of_copy = (f", {100 * r['rate'] / self.copy_rate:.0f} % of copy"
                       if unit[0] == "GB/s" and self.copy_rate and kind != "copy" else "")
            print(f"{kind:10} {text:42} {name:10} {r['us']:10.1f} us ({r['p10_us']:.1f} to "
                  f"{r['p90_us']:.1f}) {r['rate']:8.1f} {unit[0]}{of_copy}", flush=True)
        for name, reason in reasons.items():
            print(f"{kind:10} {text:42} {name:10} not measured: {reason}", flush=True)
        return results

    def check(self, what, error):
        if not error <= MOST_ERROR:
            self.wrong.append(f"{what}: square error {error:.3g}, at most {MOST_ERROR}")
            print(f"WRONG {self.wrong[-1]}", flush=True)

    # --- what is measured ----------------------------------------------------------------------
    def ceilings(self, share):
        size = 1 << (20 if self.options.small else 30)
        a, b = self.place.memory(size), self.place.memory(size)
        r = self.case("copy", {"bytes": size},
                      {"memcpy": lambda s, i: self.library.call("copy", b, a, size, s)}, 2 * size,
                      ("GB/s", 1e9), share)
        self.copy_rate = r["memcpy"]["rate"]
        n = 64 if self.options.small else 8192
        x, w, y = (self.place.bfloat16((n, n)) for _ in range(3))
        calls = {}
        if self.gemm:
            calls["cublasLt"] = lambda s, i: self.gemm.call(
                "gemm", x, w, y, n, n, n, self.workspace, self.workspace.bytes, s)
        if self.torch:
            calls["torch"] = self.torch.product(x, w)
        if calls:
            self.case("gemm", {"n": n}, calls, 2 * n ** 3, ("TFLOP/s", 1e12), share)

    def attention(self, H, causal, T, share):
        tokens, hidden = (128, 2 * H) if self.options.small else (16384, 2048)
        B, N = tokens // T, hidden // H
        q, k, v, out = (self.place.bfloat16((B, T, N, H)) for _ in range(4))
        ours = lambda s, i: self.library.call("attention", q, k, v, out, B, T, T, N, N, H,  # noqa: E731
                                              int(causal), s)
        self.library.call("attention", q, k, v, out, B, T, T, N, N, H, int(causal), 0)
        name = f"attention {H} {'causal' if causal else 'full'} {T}"
        self.check(name, self.place.attention_error(q, k, v, out, (B, T, T, N, N, H), causal))
        calls = {"ashlar": ours, **(self.torch.attention(q, k, v, causal) if self.torch else {})}
        work = 4 * B * N * T * T * H / (2 if causal else 1)
        return self.case("attention", {"head": H, "mask": "causal" if causal else "full",
                                       "tokens": T, "batch": B, "heads": N}, calls, work,
                         ("TFLOP/s", 1e12), share)

    def decode(self, B, S, group, share):
        H, N = 128, 8 if self.options.small else 32
        K = N // group
        size = 2 * B * S * K * H * 2
        sets = 1 if self.options.small else max(1, min(8, (256 << 20) // size))  # past the L2
        q, out = self.place.bfloat16((B, 1, N, H)), self.place.bfloat16((B, 1, N, H))
        kv = [(self.place.bfloat16((B, S, K, H)), self.place.bfloat16((B, S, K, H)))
              for _ in range(sets)]
        log2_page = 4
        order = list(range(B * S >> log2_page))
        random.Random(1).shuffle(order)
        table = self.place.int32(order)
        space = (self.workspace, self.workspace.bytes)
        rows = lambda s, i: self.library.call(  # noqa: E731
            "decode", q, *kv[i % sets], out, B, S, N, K, H, *space, s)
        paged = lambda s, i: self.library.call(  # noqa: E731
            "decode_paged", q, *kv[i % sets], table, out, B, S, N, K, H, log2_page, *space, s)
        rows(0, 0)
        name = f"decode batch {B} keys {S} group {group}"
        self.check(name, self.place.attention_error(q, *kv[0], out, (B, 1, S, N, K, H), False))
        straight, again = self.place.int32(list(range(len(order)))), self.place.bfloat16((B, 1, N, H))
        self.library.call("decode_paged", q, *kv[0], straight, again, B, S, N, K, H, log2_page,
                          *space, 0)
        if not self.place.same_bits(out, again):
            self.check(f"{name}, pages in order against rows", math.inf)
        calls = {"ashlar": rows, "paged": paged}
        if self.torch:
            calls.update(self.torch.decode(q, kv))
        return self.case("decode", {"batch": B, "keys": S, "group": group, "MiB": size >> 20}, calls,
                         size, ("GB/s", 1e9), share)

    def rows(self, share):
        rows, width = (16, 256) if self.options.small else (16384, 8192)
        x, y, z = (self.place.bfloat16((rows, width)) for _ in range(3))
        gain = self.place.float32([1.0] * width)
        size = rows * width * 2
        call = self.library.call
        for name, factor, run in (
                ("rms_norm", 2, lambda s, i: call("rms_norm", x, gain, y, rows, width, s)),
                ("swiglu", 3, lambda s, i: call("swiglu", x, y, z, rows, width, s)),
                ("residual", 3, lambda s, i: call("residual_add", y, x, rows, width, s))):
            if name == "rms_norm":
                run(0, 0)
                self.check("rms_norm", self.place.norm_error(x, y, rows, width))
            self.case("rows", {"op": name, "rows": rows, "width": width}, {"ashlar": run},
                      factor * size, ("GB/s", 1e9), share)

    def plan(self):
        """What is measured, the goals' cases first."""
        lengths = [64, 128] if self.options.small else [16384, 8192, 4096, 2048, 1024]
        yield "ceilings", lambda s: self.ceilings(s)
        for T in lengths:
            for H in (64, 128, 256):
                for causal in (False, True):
                    yield "attention", lambda s, a=(H, causal, T): self.attention(*a, s)
            if T == lengths[0]:  # and decoding before the shorter ones
                sizes = [(2, 64)] if self.options.small else [
                    (B, S) for S in (8192, 65536, 1024) for B in (16, 64, 1)]
                for B, S in sizes:
                    for group in (8, 4, 1):
                        # Of 32 heads of 128: at most 20 GiB.
                        if 2 * B * S * 32 // group * 128 * 2 <= 20 << 30:
                            yield "decode", lambda s, a=(B, S, group): self.decode(*a, s)
                yield "rows", lambda s: self.rows(s / 3)

    def run(self):
        cases = list(self.plan())
        left_out = 0
        for i, (name, case) in enumerate(cases):
            left = self.end - time.time()
            if left <= 0:
                left_out = len(cases) - i
                print(f"no time was left for {left_out} of {len(cases)} cases (--seconds)")
                break
            try:
                case(max(0.05, left / (len(cases) - i) * 0.6))
            except RuntimeError as error:
                self.wrong.append(f"{name}: {error}")
                print(f"WRONG {self.wrong[-1]}", flush=True)
            self.place.collect()
        return left_out

    # --- goals ---------------------------------------------------------------------------------
    def goals(self):
        """Each goal: its text, what was measured, met or not met or not measured."""
        def found(kind, **about):
            return [c for c in self.cases if c["kind"] == kind and
                    all(c.get(k) == v for k, v in about.items()) and "ashlar" in c["results"]]
        for H, rate in FORWARD_GOALS.items():
            for case in found("attention", head=H, mask="full", tokens=16384) or [None]:
                text = f"attention, heads of {H}, full, 16k tokens: at least {rate} TFLOP/s"
                got = case and case["results"]["ashlar"]["rate"]
                yield text, got and f"{got:.0f} TFLOP/s", got and got >= rate
                text = f"attention, heads of {H}, full, 16k tokens: at least the speed of cuDNN"
                other = case and case["results"].get("cudnn")
                yield (text, other and f"{got / other['rate']:.2f} x",
                       other and got >= other["rate"])
        large = [c for c in found("decode") if c["MiB"] << 20 >= DECODE_BYTES]
        text = (f"decode from {DECODE_BYTES >> 20} MiB of keys and values: at least "
                f"{100 * DECODE_GOAL:.0f} % of the copy's bandwidth")
        if not large or not self.copy_rate:
            yield text, None, None
        for case in large if self.copy_rate else ():
            share = case["results"]["ashlar"]["rate"] / self.copy_rate
            yield (f"{text} (batch {case['batch']}, {case['keys']} keys, group {case['group']})",
                   f"{100 * share:.0f} %", share >= DECODE_GOAL)


def main():
    parser = argparse.ArgumentParser(prog="./run gpu-bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=240, help="for all measurements; 240 without")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/gpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="compilers at a time")
    parser.add_argument("--check", action="store_true", help="compare with PyTorch only, no times")
    parser.add_argument("--small", action="store_true", help="tiny shapes: a rehearsal")
    parser.add_argument("--library", type=pathlib.Path, help="take this library and build none")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        if options.library:
            path, gemm_path, gpu, nvcc = options.library, options.library, {"name": "as said"}, None
        else:
            path, gemm_path, gpu, nvcc = build(options)
    except device.Missing as missing:
        print(f"gpu-bench: not run: {missing}")
        return device.NO_DEVICE
    library = Library(path)
    torch = None if options.library else Torch.find(library)
    about = {"device": gpu, "library": library.device(),
             "nvcc": device.version(nvcc) if nvcc else None,
             "torch": torch.versions() if torch else None,
             "commit": (device.answer(["git", "-C", str(ROOT), "rev-parse", "HEAD"]) or "").strip()}
    print(json.dumps(about), flush=True)
    bench = Bench(options, library, torch, Library(gemm_path) if gemm_path else None)
    if options.check:
        options.seconds, bench.measure = 0, lambda calls, seconds: ({}, {})
        for H in (64, 128, 256):
            for causal in (False, True):
                bench.attention(H, causal, 1024, 0)
            bench.decode(16, 8192, 8, 0)
        left_out, goals = 0, []
    else:
        left_out = bench.run()
        goals = [{"goal": text, "measured": got, "met": met} for text, got, met in bench.goals()]
    (options.out / ("check.json" if options.check else "bench.json")).write_text(json.dumps(
        {**about, "cases": bench.cases, "goals": goals, "wrong": bench.wrong,
         "cases_left_out": left_out}, indent=1) + "\n")
    for goal in goals:
        state = {None: "not measured", True: "met", False: "not met"}[
            goal["met"] if goal["met"] is None else bool(goal["met"])]
        print(f"goal: {goal['goal']}: {state}{', ' + goal['measured'] if goal['measured'] else ''}")
    if bench.wrong:
        print(f"gpu-bench: failed: {len(bench.wrong)} wrong results, the first {bench.wrong[0]}")
        return 1
    met = sum(bool(g["met"]) for g in goals)
    missing = sum(g["met"] is None for g in goals)
    print(f"gpu-bench: {len(bench.cases)} cases, {met} of {len(goals)} goals met, {missing} not measured"
          if not options.check else f"gpu-bench: {len(bench.cases)} comparisons agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
