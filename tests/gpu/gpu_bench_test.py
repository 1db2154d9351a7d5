#!/usr/bin/env python3
"""Rehearses gpu_bench.py with a library that pretends, on a clock that only its calls move.
Usage: gpu_bench_test.py COMPILER ROOT WORK_FOLDER"""
import json
import os
import pathlib
import subprocess
import sys

compiler, root, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
work.mkdir(parents=True, exist_ok=True)
library = work / "libpretended.so"
subprocess.run([compiler, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{root}/include",
                str(root / "tests/gpu/pretended_library.cpp"), "-o", str(library)], check=True)
faults = []


def run(what, code, words, arguments=("--library", str(library), "--small"), **environment):
    (work / "bench.json").unlink(missing_ok=True)
    made = subprocess.run([sys.executable, "-B", str(root / "bench/cuda/gpu_bench.py"), "--out",
                           str(work), *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    if made.returncode != code or not all(w in made.stdout for w in words):
        faults.append(f"{what}: exit code {made.returncode}, expected {code} and {words}\n"
                      f"{made.stdout[-1500:]}{made.stderr[-1500:]}")
    path = work / "bench.json"
    return json.loads(path.read_text()) if path.exists() else {}


whole = run("everything", 0, ["gpu-bench: 20 cases, 0 of 7 goals met, 7 not measured"])
kinds = {c["kind"] for c in whole.get("cases", [])}
if kinds != {"copy", "gemm", "attention", "decode", "rows"}:
    faults.append(f"the JSON has {kinds}")
for case in whole.get("cases", []):
    for name, r in case["results"].items():
        if not (r["p10_us"] <= r["us"] <= r["p90_us"] and r["rate"] > 0 and r["rounds"] >= 2):
            faults.append(f"{case['kind']} {name}: {r}")
run("a wrong result", 1, ["gpu-bench: failed", "attention 64 full"], BENCH_WRONG="1")
run("no time", 0, ["no time was left for"],
    ("--library", str(library), "--small", "--seconds", "0"))

# Goals, from made-up measurements.
sys.path.insert(0, str(root / "bench/cuda"))
import gpu_bench  # noqa: E402


def attention(head, ours, cudnn):
    return {"kind": "attention", "head": head, "mask": "full", "tokens": 16384, "results": {
        "ashlar": {"rate": ours}, **({"cudnn": {"rate": cudnn}} if cudnn else {})}}


bench = gpu_bench.Bench.__new__(gpu_bench.Bench)
bench.copy_rate = 4000
bench.cases = [attention(64, 480, 400), attention(128, 600, 610), attention(256, 700, None),
               {"kind": "decode", "batch": 1, "keys": 1, "group": 1, "MiB": 64,
                "results": {"ashlar": {"rate": 3500}}},
               {"kind": "decode", "batch": 2, "keys": 1, "group": 1, "MiB": 63,
                "results": {"ashlar": {"rate": 1}}},
               {"kind": "decode", "batch": 3, "keys": 1, "group": 1, "MiB": 640,
                "results": {"ashlar": {"rate": 3300}}}]
states = [None if met is None else bool(met) for _, _, met in bench.goals()]
if states != [True, True, False, False, True, None, True, False]:
    faults.append(f"goals are judged {states}")
for fault in faults:
    print("FAULT:", fault)
sys.exit(1 if faults else 0)
