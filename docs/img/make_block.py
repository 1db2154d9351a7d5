#!/usr/bin/env python3
"""Draws docs/img/block.svg: the pre-norm decoder block and the types that compose it."""
import pathlib

W, H = 860, 560
FONT = "font-family='Helvetica, Arial, sans-serif'"
out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {W} {H}' width='{W}' height='{H}'>",
       "<title>A pre-norm decoder block, each part a type</title>",
       f"<rect width='{W}' height='{H}' fill='white'/>",
       "<defs><marker id='a' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' "
       "orient='auto'><path d='M0 0 L10 5 L0 10 z' fill='#333'/></marker></defs>"]


def box(x, y, w, h, text, fill, type_name="", lift=0):
    out.append(f"<rect x='{x}' y='{y}' width='{w}' height='{h}' rx='5' fill='{fill}' stroke='#333'/>")
    out.append(f"<text x='{x + w / 2}' y='{y + h / 2 + 5}' text-anchor='middle' font-size='15' {FONT}>{text}</text>")
    if type_name:
        out.append(f"<text x='{x + w + 10}' y='{y + h / 2 + 5 - lift}' font-size='13' fill='#0b5394' "
                   f"font-family='monospace'>{type_name}</text>")


def line(points, arrow=True, dash=False):
    path = " ".join(f"{'M' if i == 0 else 'L'}{x} {y}" for i, (x, y) in enumerate(points))
    style = (" stroke-dasharray='5 4'" if dash else "") + (" marker-end='url(#a)'" if arrow else "")
    out.append(f"<path d='{path}' fill='none' stroke='#333' stroke-width='1.6'{style}/>")


def plus(x, y):
    out.append(f"<circle cx='{x}' cy='{y}' r='12' fill='white' stroke='#333' stroke-width='1.6'/>")
    line([(x - 6, y), (x + 6, y)], False)
    line([(x, y - 6), (x, y + 6)], False)


NORM, MIX, FFN, POS, RES = "#fff2cc", "#d9ead3", "#d0e0f0", "#f4dccd", "#e6ddf0"
X = 80  # the residual stream
line([(X, 545), (X, 20)])
out.append(f"<text x='{X - 30}' y='280' font-size='14' {FONT} transform='rotate(-90 {X - 30} 280)' "
           "text-anchor='middle'>residual stream x [B T, D]</text>")

# mixer sublayer
line([(X, 520), (150, 520)])
box(150, 503, 110, 34, "norm", NORM, "Spec::Norm = RmsNorm")
line([(205, 503), (205, 476)])
box(150, 436, 110, 40, "q, k, v", MIX, "")
line([(205, 436), (205, 414)])
box(150, 382, 110, 32, "q, k norm", NORM, "PerHeadNorm&lt;RmsNorm&gt;")
line([(205, 382), (205, 360)])
box(150, 328, 110, 32, "positions", POS, "Rope", 10)
line([(205, 328), (205, 306)])
box(150, 266, 250, 40, "attention (tiled, online softmax)", MIX,
    "CausalMask &amp; SlidingWindow, SoftCap", 10)
box(560, 328, 120, 32, "cache", "#eeeeee", "KvCache")
line([(260, 344), (552, 344)], True, True)
line([(620, 328), (620, 296), (402, 296)], True, True)
out.append("<text x='270' y='461' font-size='13' fill='#0b5394' font-family='monospace'>"
           "Spec::Mixer = Attention&lt;Rope, ..&gt;</text>")
line([(205, 266), (205, 246), (94, 246)])
plus(X, 246)
out.append("<text x='225' y='242' font-size='13' fill='#0b5394' font-family='monospace'>"
           "Spec::Residual = LayerScale</text>")

# feed-forward sublayer
line([(X, 205), (150, 205)])
box(150, 188, 110, 34, "norm", NORM, "Spec::Norm")
line([(205, 188), (205, 166)])
box(150, 112, 250, 54, "silu(x G) ⊙ (x U), then D", FFN, "Spec::Ffn = SwiGlu")
line([(205, 112), (205, 76), (94, 76)])
plus(X, 76)
out.append(f"<text x='440' y='80' font-size='14' {FONT} fill='#555'>Spec::Wiring = PreNorm says where the norms stand</text>")
out.append(f"<text x='440' y='36' font-size='17' {FONT} font-weight='bold'>DecoderBlock&lt;Spec&gt;</text>")
out.append("</svg>")
pathlib.Path(__file__).with_name("block.svg").write_text("\n".join(out) + "\n")
