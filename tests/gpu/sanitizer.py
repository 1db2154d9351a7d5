"""Small cases under compute-sanitizer: accesses outside of buffers, reads of memory that was never
written, misused barriers, races in shared memory. Kernels with bulk copies are left out of
racecheck, which takes an mbarrier in a loop for none: the emulated device finds their races."""
import re
import subprocess
import time

import device

# Tool, program, part of the names of its tests. A part that no test has is a failure.
RUNS = [
    ("memcheck", "conformance", None),
    ("memcheck", "conformance_sm90", None),
    ("memcheck", "forward_sm90", "ForwardSm90.HeadWidths"),
    ("memcheck", "forward", "Forward.Rows"),
    ("memcheck", "forward", "Forward.HeadWidths"),
    ("memcheck", "decode", "Decode.SinksAnd"),
    ("memcheck", "decode", "Decode.PagesInAnyOrder"),
    ("memcheck", "fallback", "Fallback.Packed"),
    ("memcheck", "functions", "Functions.AttentionWithoutGaps"),
    ("memcheck", "functions", "Functions.Decode"),
    ("memcheck", "norm", "NormRows.AddsTheBranchFirst"),
    ("memcheck", "elementwise", "Elementwise.ResidualAndBias"),
    ("memcheck", "rope_append", "RopeAppend.AppendsToPages"),
    ("memcheck", "weights", "Gemv.OddWidths"),
    ("memcheck", "sample", "SampleRows.EqualLogits"),
    ("initcheck", "functions", "Functions.Decode"),
    ("synccheck", "conformance", None),
    ("synccheck", "conformance_sm90", None),
    ("synccheck", "forward", "Forward.HeadWidths"),
    ("synccheck", "decode", "Decode.HeadWidths"),
    ("racecheck", "conformance", None),
    ("racecheck", "forward", "Forward.Rows"),
    ("racecheck", "decode", "Decode.SinksAnd"),
    ("racecheck", "norm", "NormRows.AddsTheBranchFirst"),
]


def find():
    return device.tool("compute-sanitizer", "/usr/local/cuda/compute-sanitizer")


def run(programs, run_program, runs=None, seconds=240):
    """State, tests, failures, reason."""
    tool = find()
    if not tool:
        return "not run", 0, [], "there is no compute-sanitizer here"
    prefix = lambda kind: [tool, "--tool", kind, "--error-exitcode", "9", "--print-limit", "5"]
    made = subprocess.run(prefix("memcheck") + [str(programs["conformance"]), "Indices"],
                          capture_output=True, text=True, check=False, timeout=120)
    if re.search("not supported|error 999|Unable to", made.stdout + made.stderr):
        line = re.search(r".*(?:not supported|error 999|Unable to).*", made.stdout + made.stderr)[0]
        return "not run", 0, [], f"compute-sanitizer cannot work with this device ({line.strip()})"
    tests, failures, begin, left = 0, [], time.time(), []
    for kind, program, part in runs or RUNS:
        if program not in programs:
            continue
        if time.time() - begin > seconds:
            left.append(f"{kind} of {program}")
            continue
        passed, failed, text = run_program(programs[program], part, 120, prefix(kind),
                                           {"ASHLAR_GPU_EXACT": "1"})
        tests += passed
        errors = re.findall(r"^========= (?!COMPUTE|LEAK|ERROR SUMMARY: 0|$)(\S.*)", text, flags=re.M)
        summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", text)
        if failed or not summary or summary[1] != "0":
            said = "\n".join(errors[:6]) or "\n".join(x for _, x in failed) or text[-500:]
            failures.append((f"{kind} of {program} {part or ''}".strip(), said))
    reason = f"no time was left for {', '.join(left)}" if left else ""
    state = "failed" if failures else "not run" if left else "passed"
    return state, tests, failures, reason
