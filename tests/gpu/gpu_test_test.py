#!/usr/bin/env python3
"""Rehearses gpu_test.py with tools that pretend: nvcc compiles for the emulated device, of which one
primitive at a time can be made wrong. Usage: gpu_test_test.py COMPILER ROOT WORK_FOLDER"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Of the emulated device: the test that must fail, what the text says, and what a wrong one does.
WRONG = [
    ("Indices", "return block().index.y;", "return wrong == {n} ? block().index.z : block().index.y;"),
    ("ShufflesAndBallot", "[from](int) { return from & 31; }",
     "[from](int) {{ return (from + (wrong == {n})) & 31; }}"),
    ("ShufflesAndBallot", "->vote} << i;", "->vote} << (wrong == {n} ? 31 - i : i);"),
    ("Exp2", "return flush(std::exp2(flush(x)));",
     "return wrong == {n} ? std::exp2(x) : flush(std::exp2(flush(x)));"),
    ("Log2", "return std::log2(flush(x));", "return (wrong == {n} ? 1.0001f : 1.f) * std::log2(flush(x));"),
    ("Reciprocal", "return flush(1.f / flush(x));",
     "return (wrong == {n} ? 1.0001f : 1.f) * flush(1.f / flush(x));"),
    ("Maximum", "return std::fmax(a, b);", "return wrong == {n} ? (a > b ? a : b) : std::fmax(a, b);"),
    ("Pack", "return T(low).bits | std::uint32_t{T(high).bits} << 16;",
     "if (wrong == {n}) low = std::nextafterf(low, 0.f);\n"
     "    return T(low).bits | std::uint32_t{{T(high).bits}} << 16;"),
    ("Unpack", "low = T::from_bits(static_cast<std::uint16_t>(pair));",
     "low = T::from_bits(static_cast<std::uint16_t>(wrong == {n} ? pair & ~1u : pair));"),
    ("CopyAsync", "inside ? from : nullptr", "inside || wrong == {n} ? from : nullptr"),
    ("CopyAsync", "groups.size() > Pending", "groups.size() > std::size_t{{Pending}} + (wrong == {n})"),
    ("LoadMatrix", 'load_matrices("ldmatrix", r, address, false)',
     'load_matrices("ldmatrix", r, address, wrong == {n})'),
    ("LoadMatrixTransposed", 'load_matrices("ldmatrix.trans", r, address, true)',
     'load_matrices("ldmatrix.trans", r, address, wrong != {n})'),
    ("MultiplyAdd", "right[in_group * 2 + (i & 1) + (i < 2 ? 0 : 8)][group]",
     "right[in_group * 2 + (i & 1) + ((i < 2) != (wrong == {n}) ? 0 : 8)][group]"),
    ("RoundTf32", "return (bits + 0x1000u) & ~0x1fffu;",
     "return (bits + (wrong == {n} ? 0xfffu : 0x1000u)) & ~0x1fffu;"),
    ("MultiplyAddTf32", "left[group + i % 2 * 8][in_group + i / 2 * 4]",
     "left[group + (wrong == {n} ? i / 2 : i % 2) * 8][in_group + (wrong == {n} ? i % 2 : i / 2) * 4]"),
]

PRETENDED = {
    "nvcc": """#!/bin/sh
case "$*" in
  *--list-gpu-code*) echo sm_80 sm_90; exit 0 ;;
  *--version*) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0 ;;
esac
case "$*" in *code=sm_90a*) ;; *) echo "not for the device" >&2; exit 1 ;; esac
last=""; out=""; source=""
for a in "$@"; do
  [ "$last" = -o ] && out="$a"
  case "$a" in *.cpp | *.cu) source="$a" ;; esac
  last="$a"
done
cache="$CACHE/$(basename "$out")"
if [ ! -e "$cache" ]; then
  if [ -n "$source" ]; then "$CXX" -std=c++20 -O0 -w -mavx2 -mfma -I"$ROOT/tests/gpu/stand_in" \\
    -I"$ROOT/tests" -I"$ROOT/include" -c "$source" -o "$cache" || exit 1
  else "$CXX" "$out.o" "$(dirname "$out")/main.o" -o "$cache" || exit 1; fi
fi
cp "$cache" "$out"
""",
    "nvidia-smi": """#!/bin/sh
[ -z "$NO_GPU" ] || exit 9
echo "NVIDIA Pretended, 9.0, 580.1, 1 MiB, 1 MHz, 1 W"
""",
    "__nvcc_device_query": "#!/bin/sh\nexit 1\n",
    "compute-sanitizer": """#!/bin/sh
while [ "$1" != "" ]; do case "$1" in --tool | --error-exitcode | --print-limit) shift 2 ;; *) break ;; esac; done
"$@"; code=$?
[ -z "$BAD_ACCESS" ] || { echo "========= Invalid __global__ read of size 4 bytes"; echo "========= ERROR SUMMARY: 1 error"; exit 9; }
echo "========= ERROR SUMMARY: 0 errors"
exit $code
""",
    "generate": """#!/bin/sh
case "$*" in
  *"--backend cuda"*)
    [ -z "$NO_BACKEND" ] || { echo "--backend: cuda not in {scalar,simd,eigen}" >&2; exit 2; }
    echo "blue$OTHER_TOKENS" ;;
  *) echo blue ;;
esac
""",
    "logits": """#!/usr/bin/env python3
import json, struct, sys
out = sys.argv[sys.argv.index("--out") + 1]
head = json.dumps({"__metadata__": {}, "logits": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                   "greedy": {"dtype": "I64", "shape": [1, 1], "data_offsets": [8, 16]}}).encode()
open(out, "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<2fq", 1, 2, 7))
""",
}


def main():
    compiler, root, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(work, ignore_errors=True)
    tools, copy, cache = work / "tools", work / "root", work / "cache"
    for folder in (tools, cache):
        folder.mkdir(parents=True)
    for folder in ("cuda", "gpu", "support", "oracle"):
        shutil.copytree(root / "tests" / folder, copy / "tests" / folder)
    (copy / "include").symlink_to(root / "include")
    for name, text in PRETENDED.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)

    path = copy / "tests/cuda/emulation/device.hpp"
    text = path.read_text()
    for n, (test, old, new) in enumerate(WRONG, 1):
        if text.count(old) != 1:
            sys.exit(f"FAULT: device.hpp says it {text.count(old)} times, expected once: {old}")
        text = text.replace(old, re.sub(r"\{\{|\}\}|\{n\}", lambda m: {"{{": "{", "}}": "}"}.get(
            m[0], str(n)), new))
    text = text.replace("namespace emulation {", '#include <cstdlib>\nnamespace emulation {\n'
                        'inline const int wrong = std::getenv("WRONG") ? std::atoi(std::getenv("WRONG")) : 0;',
                        1)
    path.write_text(text)

    faults = []

    def expect(what, code, words, arguments=(), json_words=(), **environment):
        out = work / "out"
        shutil.rmtree(out / "test.json", ignore_errors=True)
        made = subprocess.run(
            [sys.executable, "-B", str(copy / "tests/gpu/gpu_test.py"), "--root", str(copy), "--out",
             str(out), "--only", "conformance", "--compiler", compiler, "--jobs", "1", *arguments],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "CACHE": str(cache),
                 "CXX": compiler, "ROOT": str(copy), "CUDA_VISIBLE_DEVICES": "",
                 **environment})
        last = made.stdout.strip().splitlines()[-1] if made.stdout.strip() else made.stderr[-300:]
        good = made.returncode == code and all(re.search(w, last) for w in words)
        print(f"{'as expected' if good else 'WRONG':12} {what}: {last}", flush=True)
        if not good:
            faults.append(f"{what}: exit code {made.returncode}, expected {code}; last line: {last}\n"
                          + made.stderr[-1000:])
        elif json_words:
            written = json.loads((out / "test.json").read_text())
            for step, state in json_words:
                found = [s["state"] for s in written["steps"] if s["name"] == step]
                if found != ([state] if state else []):
                    faults.append(f"{what}: the JSON says {found} of {step}, expected {state}")

    with_model = ("--model", "x.gguf", "--programs", str(tools))
    expect("everything there", 0, ["passed: .*conformance only.*NVIDIA Pretended"], with_model,
           [("conformance", "passed"), ("sanitizer", "passed"), ("model", "passed")])
    expect("no GPU", 77, ["not run: there is no NVIDIA GPU"], NO_GPU="1")
    expect("no model", 3, ["incomplete", "model not run: no network"], ("--no-model", "no network"),
           [("model", "not run")])
    expect("programs without the backend", 3, ["incomplete", "generate was built without"], with_model,
           NO_BACKEND="1")
    expect("other tokens", 1, ["failed: model: generate"], with_model, OTHER_TOKENS="green")
    expect("an access outside", 1, ["failed: sanitizer: memcheck of conformance"], with_model,
           BAD_ACCESS="1")
    expect("a wrong primitive", 1, ["failed: conformance: Conformance.MultiplyAddTf32"], with_model,
           [("conformance", "failed"), ("sanitizer", None), ("model", None)], WRONG=str(len(WRONG)))

    # Every wrong primitive is named by the conformance program.
    for n, (test, _, _) in enumerate(WRONG, 1):
        made = subprocess.run([str(cache / "conformance")], capture_output=True, text=True, check=False,
                              env={**os.environ, "WRONG": str(n)})
        failed = re.findall(r"\[  FAILED  \] Conformance\.(\w+)", made.stdout)
        if test not in failed:
            faults.append(f"wrong primitive {n}: {failed} failed, expected {test}")
    print(f"{len(WRONG)} wrong primitives")

    # What the sanitizer is to run is there.
    sys.path.insert(0, str(copy / "tests/gpu"))
    import gpu_test  # noqa: E402
    import sanitizer  # noqa: E402
    programs = dict(gpu_test.test_programs(root))
    for _, program, part in sanitizer.RUNS:
        names = [f"{a}.{b}" for a, b in re.findall(r"^TEST\((\w+), (\w+)\)", programs[program].read_text()
                                                  if program in programs else "", flags=re.M)]
        if not any((part or "") in name for name in names):
            faults.append(f"the sanitizer's {program} {part} is no test")

    # Without nvcc: one sentence, and another exit code than a failure's.
    made = subprocess.run(
        [sys.executable, "-B", "-c", "import sys, device, gpu_test\n"
         "device.tool = lambda *names: None\nsys.argv = ['x']\nsys.exit(gpu_test.main())"],
        cwd=copy / "tests/gpu", capture_output=True, text=True, check=False)
    if made.returncode != 77 or not made.stdout.startswith("gpu-test: not run: there is no nvcc here"):
        faults.append(f"without nvcc: {made.returncode} {made.stdout} {made.stderr}")
    for fault in faults:
        print("FAULT:", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
