"""bench/plot.py on a tiny JSON: what it draws, that it draws the same bytes again, what it refuses.

Usage: plot_test.py PLOT.PY
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

script = sys.argv[1]
if importlib.util.find_spec("matplotlib") is None:
    print("not run: no matplotlib (Debian: python3-matplotlib)")
    sys.exit(0)


def plot(source, target):
    return subprocess.run([sys.executable, script, source, target], capture_output=True, text=True)


def attention(way, tokens, mask):
    return {"name": f"{way}/d64/N{tokens}/{mask}/threads1/iterations:1/manual_time",
            "GFLOP/s": 50.0, "peak GFLOP/s": 100.0, "of peak": 0.5, "extra bytes": 4.0 * tokens}


context = {"cpu": "Test CPU 9000", "compiler": "g++ 12", "instruction_set": "AVX2"}
data = {
    "attention": [attention(way, tokens, mask) for way in ("tiled", "naive", "eigen")
                  for tokens in (512, 1024) for mask in ("causal", "full")],
    "gemv": [{"name": f"{type}/64x32/threads1/iterations:1/manual_time", "of read": share}
             for type, share in (("F32", 0.953), ("Q8_0", 0.618))],
}
# Text that must be in each figure; matplotlib names the text of every label in a comment.
figures = {
    "attention-throughput.svg": ["Test CPU 9000", "causal, heads of 64", "full, heads of 64",
                                 "naive, Eigen", "512", "1024", "FMA peak"],
    "attention-memory.svg": ["Test CPU 9000", "naive, SIMD", "tiled", "1024"],
    "decode-products.svg": ["Test CPU 9000", "F32", "Q8_0", "95", "62", "64 × 32"],
}

with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "json").mkdir()
    for name, benchmarks in data.items():
        (root / "json" / f"{name}.json").write_text(
            json.dumps({"context": context, "benchmarks": benchmarks}))
    for target in ("first", "second"):
        result = plot(root / "json", root / target)
        assert result.returncode == 0, result.stdout + result.stderr
    drawn = sorted(path.name for path in (root / "first").iterdir())
    assert drawn == sorted(figures), drawn
    for name, texts in figures.items():
        svg = (root / "first" / name).read_text()
        assert svg == (root / "second" / name).read_text(), f"{name} differs between two runs"
        for text in texts:
            assert text in svg, f"{name}: no {text!r}"

    (root / "empty").mkdir()
    result = plot(root / "empty", root / "none")
    assert result.returncode != 0 and "./run bench" in result.stderr, result.stderr
    (root / "empty" / "gemv.json").write_text(json.dumps({"context": context, "benchmarks": []}))
    result = plot(root / "empty", root / "none")
    assert result.returncode != 0 and "gemv.json: no benchmark" in result.stderr, result.stderr
print("plot.py: as expected")
