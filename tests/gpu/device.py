"""Finds nvcc and the GPU, and says in one sentence what is missing."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

NO_DEVICE = 77  # exit code: nothing was run


class Missing(Exception):
    """What keeps the device's tests from running."""


def tool(name, *folders):
    """A program of CUDA's: from PATH, or where toolkits put it."""
    found = shutil.which(name)
    for folder in folders + ("/usr/local/cuda/bin",):
        if not found and os.access(f"{folder}/{name}", os.X_OK):
            found = f"{folder}/{name}"
    return found


def answer(command, seconds=60):
    """What a command prints, or None when it fails."""
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return made.stdout if made.returncode == 0 else None


def find_nvcc():
    nvcc = tool("nvcc")
    if not nvcc:
        raise Missing("there is no nvcc here (neither in PATH nor in /usr/local/cuda/bin)")
    return nvcc


def find_gpu(nvcc):
    """Name, architecture and driver of the first GPU."""
    fields = ("name", "compute_cap", "driver_version", "memory.total", "clocks.max.sm", "power.limit")
    text = answer(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"])
    if text and text.strip():
        values = [v.strip() for v in text.strip().splitlines()[0].split(",")]
        gpu = dict(zip(fields, values))
        if re.fullmatch(r"\d+\.\d", gpu.get("compute_cap", "")):
            gpu["architecture"] = int(gpu["compute_cap"].replace(".", ""))
            return gpu
    # Without nvidia-smi: what nvcc's -arch=native asks.
    text = answer([str(pathlib.Path(nvcc).parent / "__nvcc_device_query")])
    if text and re.match(r"\d+", text.strip()):
        return {"name": "GPU", "architecture": int(re.match(r"\d+", text.strip())[0])}
    raise Missing("there is no NVIDIA GPU here that nvidia-smi or nvcc can see")


def target(nvcc, architecture):
    """nvcc's options for the device: Hopper's own instructions are in sm_90a only."""
    name = "90a" if architecture == 90 else str(architecture)
    known = answer([nvcc, "--list-gpu-code"]) or ""
    if f"sm_{architecture}" not in known.split():
        raise Missing(f"nvcc does not know the GPU's architecture sm_{architecture}, only "
                      + ", ".join(known.split()))
    return ["-gencode", f"arch=compute_{name},code=sm_{name}"]


def version(nvcc):
    found = re.search(r"release ([\d.]+), V([\d.]+)", answer([nvcc, "--version"]) or "")
    return found[2] if found else "unknown"


def main():
    """For scripts: exit code 77 and a sentence where no test can run."""
    try:
        nvcc = find_nvcc()
        target(nvcc, find_gpu(nvcc)["architecture"])
    except Missing as missing:
        print(f"{sys.argv[1] if len(sys.argv) > 1 else 'gpu'}: not run: {missing}")
        sys.exit(NO_DEVICE)


if __name__ == "__main__":
    main()
