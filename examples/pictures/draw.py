#!/usr/bin/env python3
"""Draws the pictures of docs/pictures.md from the numbers that `pictures` wrote.

    python3 examples/pictures/draw.py FOLDER docs/img [--png]

Each file that is there gives its picture; the same numbers give the same bytes. --png draws them
all as PNG, to be looked at.
"""
import csv
import json
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("draw.py needs matplotlib: pip install matplotlib (Debian: python3-matplotlib)")

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

# Okabe and Ito's palette, told apart by colour-blind eyes.
BLUE, ORANGE, GREEN, RED, PINK, SKY, YELLOW = ("#0072B2", "#E69F00", "#009E73", "#D55E00",
                                               "#CC79A7", "#56B4E9", "#B8A800")
AS_PNG = False

plt.rcParams.update({
    "svg.hashsalt": "ashlar",
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e0e0e0",
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
})


def columns(path):
    """{name: array} of a CSV file."""
    with path.open() as file:
        rows = csv.reader(file)
        names = next(rows)
        data = np.array([[float(x) for x in row] for row in rows])
    return dict(zip(names, data.T))


def save(figure, target, name, kind="svg"):
    path = target / f"{name}.{'png' if AS_PNG else kind}"
    metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, metadata=metadata, dpi=110, bbox_inches="tight", pad_inches=0.08)
    plt.close(figure)
    print(path)


def draw_norms(source, target):
    data = columns(source / "norms.csv")
    panels = [("x", "", "x, as it comes"), ("rms", "rms_", "RMSNorm: the sphere of radius √3"),
              ("layer", "layer_", "LayerNorm: the circle in x + y + z = 0")]
    # Colour by the direction around the diagonal: it is what both norms keep.
    x = np.stack([data[a] for a in "xyz"])
    e1, e2 = np.array([1, -1, 0]) / np.sqrt(2), np.array([1, 1, -2]) / np.sqrt(6)
    angle = np.arctan2(e2 @ x, e1 @ x)
    figure = plt.figure(figsize=(10.2, 3.9))
    for i, (_, prefix, title) in enumerate(panels):
        axes = figure.add_subplot(1, 3, i + 1, projection="3d", computed_zorder=False)
        p = np.stack([data[prefix + a] for a in "xyz"])
        limit = 3.2 if i == 0 else 1.9
        axes.plot(*(np.outer([1, 1, 1], [-limit, limit])), color="black", linewidth=1,
                  linestyle=":", zorder=1)
        if i == 1:
            u, v = np.mgrid[0:2 * np.pi:21j, 0:np.pi:11j]
            r = np.sqrt(3)
            axes.plot_wireframe(r * np.cos(u) * np.sin(v), r * np.sin(u) * np.sin(v),
                                r * np.cos(v), color="#bbbbbb", linewidth=0.4, zorder=1)
        if i == 2:
            a = np.linspace(0, 2 * np.pi, 80)
            ring = np.sqrt(3) * (np.outer(e1, np.cos(a)) + np.outer(e2, np.sin(a)))
            disc = [list(zip(*(1.08 * ring)))]
            from mpl_toolkits.mplot3d.art3d import Poly3DCollection
            axes.add_collection3d(Poly3DCollection(disc, facecolor="#999999", alpha=0.18, zorder=1))
            axes.plot(*ring, color="#888888", linewidth=0.8, zorder=2)
        inside = (np.abs(p) <= limit).all(axis=0)
        axes.scatter(*p[:, inside], c=angle[inside], cmap="twilight_shifted", s=11,
                     depthshade=False, linewidths=0, zorder=3)
        axes.set(xlim=(-limit, limit), ylim=(-limit, limit), zlim=(-limit, limit), xlabel="x",
                 ylabel="y", zlabel="z")
        axes.set_xticks([]), axes.set_yticks([]), axes.set_zticks([])
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.labelpad = -12
            axis.pane.set_facecolor("#f7f7f7")
        axes.set_box_aspect((1, 1, 1), zoom=1.1)
        axes.view_init(elev=14, azim=-8)  # the plane of LayerNorm half open
        axes.set_title(title, fontsize=10, y=1.0)
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.0, top=0.93, wspace=0.08)
    save(figure, target, "norms")


# Some lie on each other: widths and dashes keep all of them in sight.
RESIDUAL = [("pre", BLUE, "pre-norm", "-", 1.8),
            ("pre_scaled", SKY, "pre-norm, branches / √(2L)", "-", 1.8),
            ("sandwich", ORANGE, "sandwich-norm", "-", 3.2),
            ("branch", GREEN, "branch-norm", (0, (4, 3)), 1.8),
            ("post", RED, "post-norm", "-", 3.2),
            ("layer_scale", PINK, "pre-norm, LayerScale $10^{-4}$", (0, (4, 3)), 1.8)]


def draw_residual(source, target):
    data = columns(source / "residual.csv")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.2, 3.9))
    for name, color, label, style, width in RESIDUAL:
        look = {"color": color, "linestyle": style, "linewidth": width, "label": label}
        left.plot(data["layer"], data[f"{name}_size"], **look)
        right.plot(data["layer"][:-1] + 1, data[f"{name}_change"][:-1], **look)
    left.set(xlabel="layer", ylabel="root mean square of the stream", ylim=(0, None),
             title="Size of the stream")
    right.set(xlabel="layer", yscale="log", title="Change by one layer / stream")
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3)
    save(figure, target, "residual")


ROPE = [("none", "black", "no scaling"), ("linear", ORANGE, "linear"),
        ("dynamic", SKY, "dynamic (NTK)"), ("yarn", GREEN, "YaRN"), ("llama3", BLUE, "Llama 3"),
        ("longrope", PINK, "LongRoPE"), ("proportional", RED, "proportional, a quarter turns")]


def draw_rope(source, target):
    dots, frequencies = columns(source / "rope.csv"), columns(source / "rope_frequencies.csv")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.2, 4.3), width_ratios=(1, 1.35))
    plain = frequencies["none"]
    for name, color, label in ROPE:
        left.plot(frequencies["pair"], frequencies[name] / plain, color=color, label=label)
    left.set(xlabel="pair of the head (fast to slow)", ylabel="frequency / unscaled frequency",
             title="What each rule does to the frequencies")
    # Far away an average over neighbouring distances: the ripple of single waves hides the trend.
    every = np.arange(1, len(dots["none"]))
    near = np.arange(1, 16)
    far = np.geomspace(16, every[-1], 110)
    weights = np.exp(-0.5 * (np.log(every[None, :] / far[:, None]) / 0.13)**2)
    weights /= weights.sum(axis=1, keepdims=True)
    for name, color, label in ROPE:
        mean = np.concatenate([dots[name][near], weights @ dots[name][1:]])
        right.plot(np.concatenate([near, far]), mean, color=color, label=label)
    right.axvline(4096, color="#888888", linestyle=":", linewidth=1.2)
    right.text(4096, 1.08, "trained context", ha="right", fontsize=8.5, color="#666666")
    right.set(xscale="log", xlabel="distance between query and key, tokens",
              ylabel="q · k / (|q| |k|)", title="Mean dot product of a vector with itself")
    right.set_xticks([1, 10, 100, 1000, 10000], ["1", "10", "100", "1000", "10000"])
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4)
    save(figure, target, "rope")


ACTIVATIONS = [("relu", "black", "ReLU"), ("relu_squared", RED, "ReLU²"), ("silu", BLUE, "SiLU"),
               ("gelu", GREEN, "GELU"), ("gelu_quick", ORANGE, "quick GELU"),
               ("sigmoid", PINK, "sigmoid")]
GATED = [("sigmoid", "GLU: σ(g) u"), ("relu", "ReGLU: max(g, 0) u"), ("gelu", "GEGLU: GELU(g) u"),
         ("silu", "SwiGLU: SiLU(g) u")]


def draw_activations(source, target):
    data = columns(source / "activations.csv")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.2, 3.9))
    x = data["x"]
    for name, color, label in ACTIVATIONS:
        left.plot(x, data[name], color=color, label=label)
        right.plot(x, np.gradient(data[name], x), color=color)
    left.set(xlim=(-4, 4), ylim=(-0.5, 3), xlabel="x", title="f(x)")
    right.set(xlim=(-4, 4), ylim=(-0.25, 2), xlabel="x", title="slope f'(x)")
    left.legend(loc="upper left")
    figure.tight_layout()
    save(figure, target, "activations")


def draw_gated(source, target):
    data = columns(source / "gated.csv")
    side = int(round(len(data["gate"])**0.5))
    grid = {name: values.reshape(side, side) for name, values in data.items()}
    figure, panels = plt.subplots(1, 4, figsize=(10.2, 2.75), sharey=True, layout="constrained")
    steps = [0.05, 0.2, 0.5, 1, 2, 4, 6, 9]  # finer near 0, where they differ
    levels = [-s for s in reversed(steps)] + steps
    norm = matplotlib.colors.BoundaryNorm(levels, 256)
    for axes, (name, title) in zip(panels, GATED):
        image = axes.contourf(grid["gate"], grid["up"], grid[name], levels=levels, cmap="RdBu_r",
                              norm=norm)
        axes.set(title=title, xlabel="gate g", aspect="equal")
        axes.title.set_fontsize(10)
        axes.grid(False)
    panels[0].set_ylabel("up u")
    figure.colorbar(image, ax=panels, ticks=levels, format="%g")
    save(figure, target, "gated", "png")


def draw_attention(source, target):
    data = json.loads((source / "attention.json").read_text())
    tokens = [t.replace("\n", "⏎") for t in data["tokens"]]
    rows = data["heads"]
    masks = [("causal", "causal"), ("window", f"sliding window of {data['window']}"),
             ("alibi", "causal, ALiBi of slope ½")]
    size = len(tokens)
    figure, grid = plt.subplots(len(rows), 3, figsize=(10.2, 2.72 * len(rows) + 0.9),
                                layout="constrained")
    for i, head in enumerate(rows):
        for j, (key, title) in enumerate(masks):
            axes = grid[i][j]
            p = np.array(head[key])
            p[np.triu_indices(size, 1)] = np.nan
            image = axes.imshow(p, cmap="magma_r", vmin=0, vmax=1)
            axes.grid(False)
            axes.set_facecolor("#eeeeee")
            axes.set_xticks(range(size), tokens if i == len(rows) - 1 else [], rotation=90,
                            fontsize=6.5)
            axes.set_yticks(range(size), tokens if j == 0 else [], fontsize=6.5)
            axes.tick_params(length=0)
            if i == 0:
                axes.set_title(title, fontsize=11)
            if j == 0:
                axes.set_ylabel(f"{head['name']}\nlayer {head['layer']}, head {head['head']}",
                                fontsize=10)
    figure.colorbar(image, ax=grid, shrink=0.4, label="probability")
    save(figure, target, "attention-heads", "png")


def main():
    global AS_PNG
    arguments = [a for a in sys.argv[1:] if a != "--png"]
    AS_PNG = len(arguments) != len(sys.argv[1:])
    if len(arguments) != 2:
        sys.exit(__doc__)
    source, target = map(pathlib.Path, arguments)
    target.mkdir(parents=True, exist_ok=True)
    drawn = False
    for name, draw in (("norms.csv", draw_norms), ("residual.csv", draw_residual),
                       ("rope.csv", draw_rope), ("activations.csv", draw_activations),
                       ("gated.csv", draw_gated), ("attention.json", draw_attention)):
        if (source / name).exists():
            draw(source, target)
            drawn = True
    if not drawn:
        sys.exit(f"{source}: none of the files that the program pictures writes")


if __name__ == "__main__":
    main()
