#!/usr/bin/env python3
"""Tests the CUDA kernels on the GPU of this machine, unattended: primitives, kernels against the
oracle, determinism, graphs, compute-sanitizer, a real model. The last line is the verdict; JSON goes
to OUT/test.json. Exit code: 0 passed, 1 failed, 3 something was not run, 77 no nvcc or no GPU.

Primitives come first; when one of them fails, it is named and nothing else is run."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import device
import model
import sanitizer

HERE = pathlib.Path(__file__).resolve().parent
PASSED, FAILED, NOT_RUN, ABSENT = "passed", "failed", "not run", "absent"


def test_programs(root):
    """Every test of kernels under tests/cuda whose cases run wherever they are compiled for."""
    for path in sorted((root / "tests/cuda").glob("*_test.cpp")):
        text = path.read_text()
        if re.search(r"emulation::(Device|Block|host_device)\b", text):
            continue  # of the emulated device itself
        if re.search(r'"(attention_case|conformance_case|row_case|on_device|emulation/launch)\.hpp"', text):
            yield path.name.removesuffix("_test.cpp"), path
    for name in ("repeats", "models"):
        yield name, root / f"tests/gpu/{name}.cu"


class Builder:
    """Compiles test programs: by nvcc for the device or, emulated, by a host compiler."""

    def __init__(self, options, flags):
        self.root, self.work = options.root, options.out / "programs"
        self.nvcc, self.compiler, self.flags = options.nvcc, options.compiler, flags
        self.includes = [f"-I{HERE}/stand_in", f"-I{self.root}/tests", f"-I{self.root}/include"]
        self.work.mkdir(parents=True, exist_ok=True)
        self.main = self.work / "main.o"
        self.run([self.compiler, "-std=c++20", "-O1", *self.includes, "-c", str(HERE / "main.cpp"),
                  "-o", str(self.main)])

    def run(self, command):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError((made.stdout + made.stderr)[:3000])

    def program(self, name, source):
        out = self.work / name
        out.unlink(missing_ok=True)
        if self.nvcc:
            self.run([self.nvcc, "-std=c++20", "-x", "cu", *self.flags, "-Xcompiler=-O1",
                      *self.includes, "-c", str(source), "-o", f"{out}.o"])
            self.run([self.nvcc, *self.flags, f"{out}.o", str(self.main), "-o", str(out),
                      *(["-lcublasLt"] if name == "models" else [])])
        else:
            self.run([self.compiler, "-std=c++20", "-O1", "-w", *self.flags, *self.includes,
                      str(source), str(self.main), "-o", str(out)])
        return out


def run_program(path, part=None, seconds=300, prefix=(), environment=None):
    """Runs a test program. Returns how many tests passed, the failures as pairs of name and text, and
    all output."""
    command = [*prefix, str(path), *([part] if part else [])]
    try:
        made = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=seconds, check=False, env={**os.environ, **(environment or {})})
        text, code = made.stdout + made.stderr, made.returncode
    except subprocess.TimeoutExpired as stopped:
        text = (stopped.stdout or b"").decode(errors="replace")
        code = f"it did not end within {seconds} s"
    passed, failures, running, said = 0, [], None, []
    for line in text.splitlines():
        if line.startswith("[ RUN      ]"):
            running, said = line[13:].strip(), []
        elif line.startswith("[       OK ]"):
            passed, running = passed + 1, None
        elif line.startswith("[  FAILED  ]") and running:
            failures.append((running, "\n".join(said[:12])))
            running = None
        elif running:
            said.append(line)
    if running:  # the program ended in the middle of it
        failures.append((running, "\n".join(said[:12] + [f"the program ended: {code}"])))
    elif code != 0 and not failures:
        failures.append((path.name, f"the program ended: {code}\n{text[-1000:]}"))
    return passed, failures, text


class Report:
    def __init__(self, options, about):
        self.out, self.part, self.compiled = options.out, options.only, options.compile
        self.about = about
        self.steps, self.begin = [], time.time()

    def step(self, name, state, seconds, tests=0, failures=(), reason=""):
        self.steps.append({"name": name, "state": state, "seconds": round(seconds, 1), "tests": tests,
                           "failures": [{"test": t, "text": x} for t, x in failures],
                           "reason": reason})
        count = f", {tests} tests" if tests else ""
        print(f"{name:14} {state}{count} ({seconds:.0f} s){': ' + reason if reason else ''}", flush=True)
        for test, text in failures:
            print(f"  {test}\n    " + text.replace("\n", "\n    "), flush=True)

    def verdict(self):
        """The last line, the exit code, and all of it as JSON."""
        tests = sum(s["tests"] for s in self.steps)
        failed = [s for s in self.steps if s["state"] == FAILED]
        missing = [s for s in self.steps if s["state"] == NOT_RUN]
        where = f"{self.about['device']['name']}, {time.time() - self.begin:.0f} s"
        if failed:
            first = failed[0]["failures"][0]["test"] if failed[0]["failures"] else failed[0]["reason"]
            code, text = 1, f"failed: {failed[0]['name']}: {first} ({where})"
        elif missing:
            reasons = "; ".join(f"{s['name']} not run: {s['reason']}" for s in missing)
            code, text = 3, f"incomplete: {tests} tests passed ({where}); {reasons}"
        elif self.compiled:
            code, text = 0, f"compiled: {len(self.steps)} programs ({where})"
        else:
            part = f" of {self.part} only" if self.part else ""
            code, text = 0, f"passed: {tests} tests{part} ({where})"
        self.out.mkdir(parents=True, exist_ok=True)
        whole = {"verdict": text.split(":")[0], "text": text, **self.about, "steps": self.steps}
        (self.out / "test.json").write_text(json.dumps(whole, indent=1) + "\n")
        print(f"gpu-test: {text}", flush=True)
        return code


def run_torch(options):
    """State, tests, failures, reason. The oracle is the judge; PyTorch a second one, where it is."""
    there = "import torch; assert torch.cuda.is_available()"
    if device.answer([sys.executable, "-c", there], 120) is None:
        return ABSENT, 0, [], "no PyTorch that sees the GPU; the oracle in double is the only judge"
    made = subprocess.run([sys.executable, "-B", str(options.root / "bench/cuda/gpu_bench.py"), "--check",
                           "--out", str(options.out), "--jobs", str(options.jobs)],
                          capture_output=True, text=True, check=False, timeout=600)
    said = (made.stdout + made.stderr).strip().splitlines() or [""]
    if made.returncode:
        wrong = [line for line in said if line.startswith("WRONG")] or said[-3:]
        return FAILED, 0, [("gpu_bench.py --check", "\n".join(wrong))], ""
    return PASSED, 9, [], ""


def run_step(report, step, program, part=None):
    """Runs a program, or reports what the compiler says of it. True when all passed."""
    begin = time.time()
    try:
        passed, failures, _ = run_program(program.result(), part)
    except RuntimeError as error:
        if "cublasLt" in str(error) and "o such file" in str(error) or "-lcublasLt" in str(error):
            report.step(step, NOT_RUN, time.time() - begin, reason="there is no cuBLASLt here")
            return True
        passed, failures = 0, [("compiler", str(error))]
    report.step(step, FAILED if failures else PASSED, time.time() - begin, passed, failures)
    return not failures


def run_tests(options, flags, report):
    sources = dict(test_programs(options.root))
    if options.emulate:  # these need a real one
        sources = {n: s for n, s in sources.items() if s.suffix != ".cu"}
    elif options.architecture != "90a":
        sources = {n: s for n, s in sources.items() if "sm90" not in n}
    chosen = options.only.split(",") if options.only else list(sources)
    for name in chosen:
        if name not in sources:
            raise RuntimeError(f"there is no test program {name}, only {', '.join(sources)}")
    builder = Builder(options, flags)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        if options.compile:
            for name, program in [(n, pool.submit(builder.program, n, sources[n])) for n in chosen]:
                begin, error = time.time(), program.exception()
                report.step(name, FAILED if error else PASSED, time.time() - begin,
                            failures=[("compiler", str(error))] if error else ())
            return
        # Conformance first; the others compile while it runs.
        gates = ["conformance"] + [n for n in chosen if n == "conformance_sm90"]
        building = {name: pool.submit(builder.program, name, sources[name])
                    for name in gates + [n for n in chosen if n not in gates]}
        if not all(run_step(report, name, building[name]) for name in gates):
            pool.shutdown(cancel_futures=True)
            return
        begin = time.time()
        concurrent.futures.wait(building.values())
        report.step("build", PASSED, time.time() - begin)
    for name, program in building.items():
        if name == "repeats":
            run_step(report, "determinism", program, "Repeats.")
            run_step(report, "graph", program, "Graph.")
        elif name not in gates:
            run_step(report, name, program)
    if options.emulate:
        return
    programs = {name: p.result() for name, p in building.items() if not p.exception()}
    for step, run in (("sanitizer", lambda: sanitizer.run(programs, run_program)),
                      ("torch", lambda: run_torch(options)),
                      ("model", lambda: model.run(options))):
        begin = time.time()
        try:
            state, tests, failures, reason = run()
        except (OSError, subprocess.SubprocessError) as error:
            state, tests, failures, reason = FAILED, 0, [(step, str(error))], ""
        report.step(step, state, time.time() - begin, tests, failures, reason)


def main():
    parser = argparse.ArgumentParser(prog="./run gpu-test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parents[1], help="the source tree")
    parser.add_argument("--out", type=pathlib.Path, help="folder of results; build/gpu without")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="compilers at a time")
    parser.add_argument("--only", default="", metavar="NAME,..", help="only these test programs")
    parser.add_argument("--compiler", default="g++", help="the host's compiler")
    parser.add_argument("--emulate", action="store_true",
                        help="run on the emulated device instead: a rehearsal that needs no GPU")
    parser.add_argument("--compile", type=int, metavar="90", default=0,
                        help="compile everything for this architecture, and run nothing")
    parser.add_argument("--model", metavar="FILE.gguf", help="SmolLM2")
    parser.add_argument("--programs", type=pathlib.Path, metavar="FOLDER",
                        help="where generate and logits are; built without")
    parser.add_argument("--no-model", default="", metavar="WHY", help="why there is no model to run")
    options = parser.parse_args()
    options.out = options.out or options.root / "build/gpu"

    about = {"commit": (device.answer(["git", "-C", str(options.root), "rev-parse", "HEAD"]) or
                        "unknown").strip()}
    try:
        if options.emulate:
            options.nvcc, flags = None, ["-mavx2", "-mfma"] if os.uname().machine == "x86_64" else []
            about["device"] = {"name": "emulated"}
        else:
            options.nvcc = device.find_nvcc()
            about["device"] = ({"name": f"compiled for sm_{options.compile}",
                                "architecture": options.compile} if options.compile else
                               device.find_gpu(options.nvcc))
            about["nvcc"] = device.version(options.nvcc)
            flags = device.target(options.nvcc, about["device"]["architecture"])
            options.architecture = flags[1].rpartition("_")[2]
    except device.Missing as missing:
        print(f"gpu-test: not run: {missing}")
        return device.NO_DEVICE
    print("device: " + ", ".join(f"{k} {v}" for k, v in about["device"].items()), flush=True)
    # What the program with whole models reads.
    os.environ["ASHLAR_TEST_DATA"] = str(options.root / "tests/golden")
    os.environ["ASHLAR_SMOLLM2"] = options.model or ""
    report = Report(options, about)
    try:
        run_tests(options, flags, report)
    except (RuntimeError, OSError) as error:
        report.step("preparation", FAILED, 0, failures=[("what went wrong", str(error))])
    return report.verdict()


if __name__ == "__main__":
    sys.exit(main())
