#!/usr/bin/env python3
"""Draws docs/img/*.svg from the JSON of the benchmark programs.

    python3 bench/plot.py build/bench docs/img

Each JSON file that is there gives its figures; the same JSON gives the same bytes.
"""
import json
import pathlib
import re
import sys

try:
    import matplotlib
except ImportError:
    print("not run: plot.py needs matplotlib (Debian: python3-matplotlib)")
    sys.exit(0)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Okabe and Ito's palette, told apart by colour-blind eyes; markers tell them apart in print.
STYLES = {
    "tiled": ("#0072B2", "o", "tiled"),
    "naive": ("#D55E00", "s", "naive, SIMD"),
    "eigen": ("#009E73", "^", "naive, Eigen"),
}
ATTENTION = re.compile(r"(\w+)/d(\d+)/N(\d+)/(causal|full)/threads(\d+)")
GEMV = re.compile(r"(\w+)/(\d+x\d+)/threads(\d+)")

plt.rcParams.update({
    "svg.hashsalt": "ashlar",  # ids in the file depend on nothing but its content
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e0e0e0",
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
})


def read(path, pattern):
    """The machine's name, and [(groups of the name, benchmark)]."""
    data = json.loads(path.read_text())
    context = data["context"]
    machine = ", ".join(context[key] for key in ("cpu", "compiler", "instruction_set"))
    rows = []
    for benchmark in data["benchmarks"]:
        if match := pattern.match(benchmark["name"]):
            rows.append((match.groups(), benchmark))
    return machine.replace("(R)", ""), rows


def threads_text(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def save(figure, path):
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    print(path)


def tokens_axis(axes, tokens):
    axes.set_xscale("log", base=2)
    axes.set_xticks(tokens, [str(n) for n in tokens])
    axes.minorticks_off()
    axes.set_xlabel("tokens")


def attention_series(rows, width, mask, threads, key):
    """{way: ([tokens], [value])}"""
    series = {}
    for (way, d, tokens, m, t), benchmark in rows:
        if (int(d), m, int(t)) == (width, mask, threads):
            series.setdefault(way, {})[int(tokens)] = benchmark[key]
    return {way: zip(*sorted(points.items())) for way, points in series.items()}


def plot_throughput(machine, rows, target):
    threads = min(int(groups[4]) for groups, _ in rows)
    panels = sorted({(int(g[1]), g[3]) for g, _ in rows if int(g[4]) == threads})
    columns = sorted({width for width, _ in panels})
    masks = [m for m in ("causal", "full") if any(p[1] == m for p in panels)]
    figure, grid = plt.subplots(len(masks), len(columns), squeeze=False, sharey=True,
                                figsize=(4.2 * len(columns), 2.9 * len(masks) + 1.0))
    for i, mask in enumerate(masks):
        for j, width in enumerate(columns):
            axes = grid[i][j]
            here = [b for g, b in rows if (int(g[1]), g[3], int(g[4])) == (width, mask, threads)]
            if not here:
                axes.set_visible(False)
                continue
            peaks = sorted(b["peak GFLOP/s"] for b in here)
            axes.axhline(peaks[len(peaks) // 2], color="black", linestyle="--", linewidth=1.2,
                         label="FMA peak, measured in between")
            tokens = set()
            for way, points in attention_series(rows, width, mask, threads, "GFLOP/s").items():
                color, marker, label = STYLES[way]
                x, y = points
                tokens |= set(x)
                axes.plot(x, y, color=color, marker=marker, label=label)
            tokens_axis(axes, sorted(tokens))
            axes.set_ylim(0, 1.1 * peaks[-1])
            axes.set_title(f"{mask}, heads of {width}", fontsize=10)
            if j == 0:
                axes.set_ylabel("GFLOP/s")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.suptitle(f"Attention, f32, {threads_text(threads)}\n{machine}", fontsize=11)
    strip = 0.35 / figure.get_figheight()
    figure.tight_layout(rect=(0, strip, 1, 1))
    figure.legend(handles, labels, loc="lower center", ncol=len(labels))
    save(figure, target / "attention-throughput.svg")


def plot_memory(machine, rows, target):
    width = min(int(groups[1]) for groups, _ in rows)
    threads = min(int(groups[4]) for groups, _ in rows)
    mask = "causal" if any(groups[3] == "causal" for groups, _ in rows) else "full"
    figure, axes = plt.subplots(figsize=(5.6, 3.9), layout="constrained")
    tokens = set()
    # Both naive ways keep one matrix of scores: markers of different sizes show that they coincide.
    for way, points in attention_series(rows, width, mask, threads, "extra bytes").items():
        color, marker, label = STYLES[way]
        x, y = points
        tokens |= set(x)
        axes.plot(x, [b / 2**20 for b in y], color=color, marker=marker, label=label,
                  markersize=9 if way == "naive" else 5, zorder=3 if way == "eigen" else 2)
    tokens_axis(axes, sorted(tokens))
    axes.set_yscale("log", base=10)
    axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    axes.minorticks_off()
    axes.set_ylabel("MiB beside the tensors")
    axes.legend()
    axes.set_title(f"Extra memory of attention, heads of {width}, {threads_text(threads)}\n{machine}",
                   fontsize=11)
    save(figure, target / "attention-memory.svg")


def plot_gemv(machine, rows, target):
    threads = min(int(groups[2]) for groups, _ in rows)
    shape = max((groups[1] for groups, _ in rows), key=lambda s: sum(g[1] == s for g, _ in rows))
    bars = [(g[0], b["of read"]) for g, b in rows if g[1] == shape and int(g[2]) == threads]
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    names = [name for name, _ in bars]
    shares = [100 * share for _, share in bars]
    axes.bar(names, shares, color="#0072B2", width=0.65)
    for x, share in enumerate(shares):
        axes.text(x, share + 1.5, f"{share:.0f}", ha="center", fontsize=9)
    axes.axhline(100, color="black", linestyle="--", linewidth=1.2)
    axes.grid(axis="x", visible=False)
    axes.set_ylim(0, max(112, max(shares) + 10))
    axes.set_ylabel("% of read bandwidth")
    axes.set_title(f"Products of one token, weights {shape.replace('x', ' × ')}, "
                   f"{threads_text(threads)}\n{machine}", fontsize=11)
    save(figure, target / "decode-products.svg")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    drawn = False
    for name, pattern, plots in (("attention", ATTENTION, (plot_throughput, plot_memory)),
                                 ("gemv", GEMV, (plot_gemv,))):
        path = source / f"{name}.json"
        if path.exists():
            machine, rows = read(path, pattern)
            if not rows:
                sys.exit(f"{path}: no benchmark of {name} in it")
            for plot in plots:
                plot(machine, rows, target)
                drawn = True
    if not drawn:
        sys.exit(f"{source}: neither attention.json nor gemv.json; make them by ./run bench")


if __name__ == "__main__":
    main()
