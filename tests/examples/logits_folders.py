#!/usr/bin/env python3
"""Runs the program `logits` on every golden encoder, encoder-decoder and vision model.

Usage: logits_folders.py PROGRAM GOLDEN_FOLDER

The golden files hold what PyTorch's models gave in float64. Everything that a file holds must come
out under its name, within 8 times the error of PyTorch's own float32 run plus 2e-6 of the largest
element, on each backend; scalar and simd must give the same bits.
"""
import array
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

TYPES = {"F32": "f", "I64": "q"}
BACKENDS = ("scalar", "simd", "eigen")
failures = []


def check(condition, message):
    if not condition:
        failures.append(message)
        print("FAILED", message)


def read(path):
    """Tensors as {name: (shape, values)}, and the metadata."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, tensor in header.items():
        values = array.array(TYPES[tensor["dtype"]])
        values.frombytes(data[slice(*tensor["data_offsets"])])
        if sys.byteorder == "big":
            values.byteswap()
        tensors[name] = (tensor["shape"], values)
    return tensors, metadata


def write(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        values = array.array(values.typecode, values)
        if sys.byteorder == "big":
            values.byteswap()
        end = len(data) + len(values) * values.itemsize
        kind = next(k for k, code in TYPES.items() if code == values.typecode)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), end]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def rows(tensor, lengths=None):
    """A matrix of ids as the command line takes it, each row cut to its length."""
    (batch, width), values = tensor
    cut = lengths or [width] * batch
    return ";".join(",".join(str(x) for x in values[b * width:b * width + cut[b]]) for b in range(batch))


def arg_max(values):
    return max(range(len(values)), key=values.__getitem__)


class Case:
    """A golden folder: its expected tensors, and the arguments that give its inputs."""

    def __init__(self, folder):
        self.folder, self.name = folder, os.path.basename(folder)
        self.file = os.path.join(folder, "expected.safetensors")
        self.tensors, self.metadata = read(self.file)
        self.inputs = self.metadata["inputs"].split()
        self.errors = json.loads(self.metadata["f32_error_by_tensor"])
        self.outputs = set(self.tensors) - set(self.inputs)
        first = {i: self.tensors[i] for i in self.inputs}
        self.lengths = None
        if "src_lengths" in first:
            self.lengths = list(first["src_lengths"][1])
        elif "attention_mask" in first:
            (batch, width), mask = first["attention_mask"]
            self.lengths = [sum(mask[b * width:(b + 1) * width]) for b in range(batch)]
        self.source, self.target = [], None
        for option, names, lengths in (("--tokens", ("input_ids", "src_ids"), self.lengths),
                                       ("--types", ("token_type_ids",), self.lengths)):
            for name in names:
                if name in first:
                    self.source += [option, rows(first[name], lengths)]
        if "pixel_values" in first or "input_features" in first:
            self.source += ["--input", self.file]
        for name in ("decoder_input_ids", "tgt_ids"):
            if name in first:
                self.target = first[name]
        self.arguments = self.source + (["--decoder-tokens", rows(self.target)] if self.target else [])

    def tolerance(self, name):
        return 8 * self.errors[name] + 2e-6 * max(abs(x) for x in self.tensors[name][1])

    def compare(self, got, name, where):
        """Largest error of the rows of true tokens; those of padding must be zeros."""
        shape, expected = self.tensors[name]
        if got.get(name, (None,))[0] != self.shape(name):
            check(False, f"{where}: {name} is {got.get(name, ('missing',))[0]}, expected {self.shape(name)}")
            return 0.0
        values, largest = got[name][1], 0.0
        padded = self.lengths and len(shape) == 3 and shape[0] == len(self.lengths) and \
            not name.startswith(("decoder_", "vision_")) and not (self.target and name == "logits")
        length, longest, width = shape[1], self.shape(name)[1], shape[-1]
        for b in range(shape[0]):
            for t in range(length if len(shape) == 3 else 1):
                at = (b * length + t if len(shape) == 3 else b) * width
                mine = (b * longest + t if len(shape) == 3 else b) * width
                if padded and t >= self.lengths[b]:
                    zero = t >= longest or not any(values[mine:mine + width])
                    check(zero, f"{where}: {name} is not 0 in the padding of sequence {b}")
                    continue
                for i in range(width):
                    error = abs(values[mine + i] - expected[at + i])
                    largest = max(largest, error if math.isfinite(error) else math.inf)
        check(largest <= self.tolerance(name),
              f"{where}: {name} is off by {largest:.2g}, allowed {self.tolerance(name):.2g}")
        return largest

    def shape(self, name):
        """The shape that comes out: columns of padding that all sequences have are not given."""
        shape = list(self.tensors[name][0])
        whole = self.lengths and len(shape) == 3 and not name.startswith(("decoder_", "vision_"))
        if whole and not (self.target and name == "logits"):
            shape[1] = max(self.lengths)
        return shape


class Program:
    def __init__(self, path, scratch):
        self.path, self.out = path, os.path.join(scratch, "out.safetensors")

    def start(self, folder, *arguments):
        return subprocess.run([self.path, folder, "--out", self.out, *arguments], capture_output=True,
                              text=True, check=False)

    def run(self, folder, *arguments):
        done = self.start(folder, *arguments)
        if done.returncode != 0:
            check(False, f"{os.path.basename(folder)} {arguments[-2:]}: {done.stderr.strip()}")
            return {}, ""
        hashes = re.findall(r"^hash: ([0-9a-f]{16})$", done.stdout, re.M)
        return read(self.out)[0], hashes[-1] if hashes else ""

    def refuses(self, expected, folder, *arguments):
        done = self.start(folder, *arguments)
        check(done.returncode == 1 and re.search(expected, done.stderr),
              f"{folder} {arguments}: got {done.returncode}, {done.stderr!r}, expected {expected!r}")


def test_values(program, case):
    hashes = {}
    for backend in BACKENDS:
        where = f"{case.name} {backend}"
        got, hashes[backend] = program.run(case.folder, *case.arguments, "--hidden", "--backend", backend)
        check(set(got) == case.outputs, f"{where}: tensors {sorted(set(got) ^ case.outputs)} are not in both")
        largest = max(case.compare(got, name, where) for name in sorted(case.outputs))
        print(f"{where}: {len(case.outputs)} tensors, largest error {largest:.1e}")
    check(hashes["scalar"] == hashes["simd"] != "", f"{case.name}: scalar and simd differ")
    got, again = program.run(case.folder, *case.arguments, "--threads", "1")
    wanted = {name for name in case.outputs if "states." not in name}
    check(set(got) == wanted, f"{case.name}: without --hidden there is {sorted(set(got) ^ wanted)}")
    check(again == hashes["simd"], f"{case.name}: one thread gives other bits")


def test_greedy(program, case, count=4):
    """The first token is the golden logits' best; the rest, from the caches, those without a cache."""
    (batch, length), ids = case.target
    _, logits = case.tensors["logits"]
    width = case.tensors["logits"][0][2]
    keep = length - 2  # Whisper's context here has room for few more
    targets = [list(ids[b * length:b * length + keep]) for b in range(batch)]
    text = ";".join(",".join(map(str, t)) for t in targets)
    got, _ = program.run(case.folder, *case.source, "--decoder-tokens", text, "--greedy", str(count))
    check(got.get("greedy", (None,))[0] == [batch, count], f"{case.name}: greedy {got.get('greedy')}")
    if "greedy" not in got:
        return
    best = [list(got["greedy"][1][b * count:(b + 1) * count]) for b in range(batch)]
    for b in range(batch):
        at = (b * length + keep - 1) * width
        row = list(logits[at:at + width])
        check(max(row) - row[best[b][0]] <= 2 * case.tolerance("logits"),
              f"{case.name}: greedy begins with {best[b][0]}, expected {arg_max(row)}")
    whole = ";".join(",".join(map(str, t + more)) for t, more in zip(targets, best))
    got, _ = program.run(case.folder, *case.source, "--decoder-tokens", whole)
    for b in range(batch):
        for n in range(count):
            at = (b * (keep + count) + keep - 1 + n) * width
            check(arg_max(got["logits"][1][at:at + width]) == best[b][n],
                  f"{case.name}: greedy token {n} of sequence {b} is not that without a cache")
    print(f"{case.name}: {count} tokens through the caches are those without")


def derived(case, scratch, rename):
    """A folder with the case's tensors under the names that rename gives; None leaves one out."""
    folder = tempfile.mkdtemp(dir=scratch)
    shutil.copy(os.path.join(case.folder, "config.json"), folder)
    tensors, _ = read(os.path.join(case.folder, "model.safetensors"))
    renamed = {rename(name): tensor for name, tensor in tensors.items()}
    renamed.pop(None, None)
    return folder, renamed


def test_other_heads(program, bert, vit, scratch):
    """A classifier of sentences has BERT's two-way head alone; a bare ViT has a pooler."""
    def classifier_only(name):
        return None if name.startswith("cls.predictions") else name.replace("cls.seq_relationship", "classifier")

    folder, tensors = derived(bert, scratch, classifier_only)
    write(os.path.join(folder, "model.safetensors"), tensors)
    got, _ = program.run(folder, *bert.arguments)
    check(set(got) == {"last_hidden_state", "pooler_output", "logits"}, f"BERT that classifies: {sorted(got)}")
    check(list(got.get("logits", (0, []))[1]) == list(program.run(bert.folder, *bert.arguments)[0]
                                                      ["seq_relationship_logits"][1]), "BERT that classifies: logits")

    folder, tensors = derived(vit, scratch, lambda name: re.sub(r"^vit\.", "", name)
                              if not name.startswith("classifier") else None)
    (batch, length, width), hidden = vit.tensors["last_hidden_state"]
    weight = [math.sin(7.0 * i) for i in range(width * width)]
    bias = [math.cos(5.0 * i) for i in range(width)]
    tensors["pooler.dense.weight"] = ([width, width], array.array("f", weight))
    tensors["pooler.dense.bias"] = ([width], array.array("f", bias))
    write(os.path.join(folder, "model.safetensors"), tensors)
    got, _ = program.run(folder, *vit.arguments)
    check(set(got) == {"last_hidden_state", "pooler_output"}, f"bare ViT: {sorted(got)}")
    for b in range(batch):
        row = hidden[b * length * width:(b * length + 1) * width]
        for i in range(width):
            product = sum(x * w for x, w in zip(row, weight[i * width:(i + 1) * width]))
            pooled = got["pooler_output"][1][b * width + i]
            check(abs(pooled - math.tanh(product + bias[i])) < 1e-4, f"bare ViT: pooler_output {b}, {i}")
    print("other heads are as they should be")


def test_refusals(program, cases, scratch):
    wrong = {"vit": (["--tokens", "1"], "vit: got --tokens, expected pixel_values of --input"),
             "t5_v1_0": (["--tokens", "1"], "t5: got --tokens, expected --tokens and --decoder-tokens"),
             "bart": ([], "bart: got nothing, expected --tokens and --decoder-tokens"),
             "whisper": (["--tokens", "1", "--decoder-tokens", "1"],
                         "whisper: got --tokens and --decoder-tokens, expected --decoder-tokens and input_features"),
             "bert": (["--decoder-tokens", "1"],
                      "bert: got --decoder-tokens, expected --tokens, optionally --types"),
             "roberta": (["--tokens", "1,2", "--types", "0"], "types: got 1 sequences of up to 1, expected"),
             "clip": ([], "clip: got nothing, expected one or more of --tokens and pixel_values of --input"),
             "transformer_2017_post_norm": (["--tokens", "1;2", "--decoder-tokens", "1"],
                                            "decoder tokens: got 1 sequences, expected 2"),
             "t5_v1_1": (["--tokens", "1;2", "--decoder-tokens", "1;2,3"],
                         "tokens of sequence 2: got 2, expected 1 as in the first"),
             "cait": (["--input", cases["whisper"].file],
                      "cait: got input_features of --input, expected pixel_values of --input"),
             "dinov2_registers": (["--input", cases["dinov2_registers_giant"].file],
                                  r"image has shape \[2, 3, 12, 12\], expected \[2, 3, 16, 16\]"),
             "vit_22b_like": (["--input", cases["vit"].file, "--greedy", "1"], "greedy is 1, expected 0: vit-22b"),
             "modernbert": (["--input", cases["bert"].file], "has neither pixel_values nor input_features")}
    program.refuses("^error: modernbert: got --tokens and --types, expected --tokens", cases["modernbert"].folder,
                    "--tokens", "1,2", "--types", "0,1")
    for name, (arguments, message) in wrong.items():
        program.refuses("^error: .*" + message, cases[name].folder, *arguments)
    program.refuses("tokens of sequence 1: item 2 is \"x\"", cases["bart"].folder, "--tokens", "1,x")
    program.refuses("backend is \"gpu\", expected", cases["vit"].folder, *cases["vit"].arguments, "--backend", "gpu")
    flat = os.path.join(scratch, "flat.safetensors")
    write(flat, {"pixel_values": ([3, 16, 16], array.array("f", [0.0] * 768))})
    program.refuses(r"pixel_values is \[3, 16, 16\], expected \[images, channels", cases["vit"].folder, "--input", flat)
    for name, key, value in (("vit", "hidden_act", "mish"), ("t5_v1_0", "feed_forward_proj", "tanh"),
                             ("cait", "global_pool", "avg"), ("bart", "activation_function", "celu"),
                             ("whisper", "activation_function", "celu"), ("vit", "model_type", "swin"),
                             ("transformer_2017_pre_norm", "activation", "tanh")):
        folder = tempfile.mkdtemp(dir=scratch)
        with open(os.path.join(cases[name].folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config[key] = value
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        shutil.copy(os.path.join(cases[name].folder, "model.safetensors"), folder)
        key = "model family" if key == "model_type" else key
        program.refuses(f"{key} is \"{value}\", supported: .", folder, *cases[name].arguments)
    print("wrong inputs and settings are refused by name")


def main():
    path, golden = sys.argv[1:3]
    folders = sorted(os.path.dirname(os.path.join(root, "expected.safetensors"))
                     for root, _, files in os.walk(golden) if "expected.safetensors" in files)
    check(len(folders) >= 15, f"{golden} has {len(folders)} cases, expected 15 or more")
    with tempfile.TemporaryDirectory() as scratch:
        program = Program(path, scratch)
        cases = {os.path.basename(folder): Case(folder) for folder in folders}
        for case in cases.values():
            test_values(program, case)
            if case.target:
                test_greedy(program, case)
        test_other_heads(program, cases["bert"], cases["vit"], scratch)
        test_refusals(program, cases, scratch)
    if failures:
        sys.exit(f"{len(failures)} checks failed")


if __name__ == "__main__":
    main()
