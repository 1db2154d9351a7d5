"""A real model end to end: the tokens that generate and logits give on the GPU are those of the CPU."""
import array
import json
import pathlib
import re
import struct
import subprocess
import tempfile

PROMPTS = ["Explain in two sentences why the sky is blue.", "Count from one to ten in English."]
TOKENS = "1,504,11576,346,260,1343,28,216,33,34,35,36,2471,253,4237,351"  # any will do
MOST_ERROR = 1e-3  # of the logits, squared, relative to their own: activations have 16 bits


def read_tensors(path):
    """F32 and I64 tensors of a safetensors file, by name."""
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", data)
    tensors = {}
    for name, about in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            code = {"F32": "f", "I64": "q"}[about["dtype"]]
            tensors[name] = array.array(code, data[8 + size + begin:8 + size + end])
    return tensors


def square_error(got, expected):
    if len(got) != len(expected):
        return float("inf")
    difference = sum((g - e) ** 2 for g, e in zip(got, expected))
    return difference / max(sum(e * e for e in expected), 1e-30)


class Absent(Exception):
    """Why a program cannot say anything of the GPU."""


def call(command):
    """What a program prints. Throws Absent where it has no such backend, RuntimeError otherwise."""
    try:
        made = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              errors="replace", timeout=600, check=False)
    except OSError as error:
        raise Absent(str(error)) from error
    except subprocess.TimeoutExpired as stopped:
        raise RuntimeError("it did not end within 600 s") from stopped
    if made.returncode:
        said = (made.stderr.strip() or made.stdout.strip()).splitlines()
        text = said[-1] if said else f"exit code {made.returncode}"
        if re.search(r"--?backend.*cuda", made.stderr):
            raise Absent(f"{pathlib.Path(command[0]).name} was built without the backend cuda")
        raise RuntimeError(text)
    return made.stdout


def build(options):
    """Builds the programs with the backend cuda; returns their folder. Throws Absent."""
    def quiet(*command):
        made = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=options.root,
                              check=False)
        (options.out / "model-build.log").open("a").write(made.stdout + made.stderr)
        if made.returncode:
            said = [l for l in (made.stdout + made.stderr).splitlines()
                    if re.search("error|needs|unknown target|No such", l, re.I)] or ["cmake failed"]
            raise Absent(f"generate and logits do not build: {said[0].strip()[:200]} "
                         f"({options.out}/model-build.log)")
        return made.stdout
    (options.out / "model-build.log").unlink(missing_ok=True)
    try:
        said = quiet("cmake", "--preset", "cuda", f"-DCMAKE_CUDA_COMPILER={options.nvcc}",
                     f"-DCMAKE_CUDA_ARCHITECTURES={options.architecture}")
        for line in re.findall(r"ashlar: (.*left out.*)", said):
            if re.search("examples are|example (generate|logits)", line):
                raise Absent(line)
        quiet("cmake", "--build", "build/cuda", "-j", options.jobs, "--target", "generate", "logits")
    except OSError as error:
        raise Absent(f"generate and logits cannot be built: {error}") from error
    return options.root / "build/cuda/examples"


def run(options):
    """State, tests, failures, reason."""
    if not options.model:
        return "not run", 0, [], options.no_model or "no model was given (--model)"
    try:
        options.programs = options.programs or build(options)
    except Absent as absent:
        return "not run", 0, [], str(absent)
    generate, logits = options.programs / "generate", options.programs / "logits"
    passed, failures = 0, []

    def both(name, once):
        """The CPU's answer and the GPU's."""
        nonlocal passed
        try:
            expected, got = once("simd"), once("cuda")
        except RuntimeError as error:
            failures.append((name, str(error)))
            return None
        return expected, got

    with tempfile.TemporaryDirectory() as work:
        try:
            for prompt in PROMPTS:
                name = f'generate "{prompt}"'
                answers = both(name, lambda b: call([generate, options.model, "--chat", "-p", prompt,
                                                     "-n", 64, "--temp", 0, "--backend", b]))
                if answers and answers[0] != answers[1]:
                    failures.append((name, f"CPU: {answers[0][:300]}\nGPU: {answers[1][:300]}"))
                passed += bool(answers) and answers[0] == answers[1]

            def tensors(backend):
                out = pathlib.Path(work) / f"{backend}.safetensors"
                call([logits, options.model, "--tokens", TOKENS, "--greedy", 32, "--out", out,
                      "--backend", backend])
                return read_tensors(out)
            answers = both("logits", tensors)
            if answers:
                error = square_error(answers[1]["logits"], answers[0]["logits"])
                if not error <= MOST_ERROR:
                    failures.append(("logits", f"square error {error:.3g}, at most {MOST_ERROR}"))
                if answers[0]["greedy"] != answers[1]["greedy"]:
                    failures.append(("greedy tokens", f"CPU: {list(answers[0]['greedy'])}\n"
                                     f"GPU: {list(answers[1]['greedy'])}"))
                passed += error <= MOST_ERROR and answers[0]["greedy"] == answers[1]["greedy"]
        except Absent as absent:
            return "not run", 0, [], str(absent)
    return ("failed" if failures else "passed"), passed, failures, ""
