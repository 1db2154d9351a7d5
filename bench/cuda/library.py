"""The kernels as a shared library (runtime.cu and its neighbours), and PyTorch beside it: both give
memory, streams, graphs and a comparison with attention computed otherwise."""
import array
import ctypes
import math
import operator
import struct

CALL_SECONDS = 1e-3  # a graph holds as many calls as take this long


class Memory:
    """Memory of the device; with PyTorch it belongs to a tensor."""

    def __init__(self, pointer, size, tensor=None, release=None):
        self.pointer, self.bytes, self.tensor, self._release = pointer, size, tensor, release

    def __del__(self):
        if self._release:
            self._release(self.pointer)


def floats(data):
    """Elements of bfloat16 as floats."""
    return array.array("f", array.array("I", [h << 16 for h in data.cast("H")]).tobytes())


class Library:
    """Calls bench_NAME(..) of the library, and throws RuntimeError with what it says."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path.resolve()))
        self.stream = None

    def call(self, name, *arguments):
        function = getattr(self.library, f"bench_{name}")
        function.restype = ctypes.c_char_p
        said = function(*(ctypes.c_void_p(a.pointer) if isinstance(a, Memory) else
                          a if isinstance(a, (ctypes._SimpleCData, ctypes.Array)) or a is None or
                          not isinstance(a, int) else ctypes.c_size_t(a) for a in arguments))
        if said:
            raise RuntimeError(f"{name}: {said.decode()}")

    def device(self):
        name, architecture, free = (ctypes.create_string_buffer(256), ctypes.c_int(),
                                    ctypes.c_size_t())
        self.call("device", name, ctypes.c_int(256), ctypes.pointer(architecture),
                  ctypes.pointer(free))
        return {"name": name.value.decode(), "architecture": architecture.value, "free": free.value}

    # --- memory ---------------------------------------------------------------------------------
    def memory(self, size):
        pointer = ctypes.c_void_p()
        self.call("allocate", ctypes.pointer(pointer), size)
        return Memory(pointer.value, size, release=lambda p: self.call("free", ctypes.c_void_p(p)))

    def bfloat16(self, shape):
        memory = self.memory(2 * math.prod(shape))
        self.call("fill", memory, math.prod(shape), ctypes.c_uint(memory.pointer // 512 & 0xffff))
        return memory

    def numbers(self, values, code):
        data = struct.pack(f"<{len(values)}{code}", *values)
        memory = self.memory(len(data))
        self.call("copy", memory, ctypes.c_char_p(data), len(data), None)
        self.call("synchronize")
        return memory

    def int32(self, values):
        return self.numbers(values, "i")

    def float32(self, values):
        return self.numbers(values, "f")

    def read(self, memory, first, count):
        """Elements of bfloat16, as bytes."""
        data = ctypes.create_string_buffer(2 * count)
        self.call("synchronize")
        self.call("copy", data, ctypes.c_void_p(memory.pointer + 2 * first), 2 * count, None)
        self.call("synchronize")
        return memoryview(data).cast("B")

    def collect(self):
        """Nothing waits to be freed."""

    # --- comparisons ----------------------------------------------------------------------------
    def attention_error(self, q, k, v, out, shape, causal):
        """Of some rows, in double; shape is B, T, S, N, K, H, and S >= T."""
        B, T, S, N, K, H = shape
        difference = size = 0.0
        for b, t, n in {(B - 1, min(T, 700) - 1, N - 1), *([(0, 0, 0)] if S <= 2048 else [])}:
            at, kv = ((b * T + t) * N + n) * H, n // (N // K)
            query, got = floats(self.read(q, at, H)), floats(self.read(out, at, H))
            keys = S - T + t + 1 if causal else S
            k_rows, v_rows = (self.read(x, b * S * K * H, keys * K * H) for x in (k, v))
            row = lambda rows, s: floats(rows[2 * (s * K + kv) * H:2 * (s * K + kv + 1) * H])  # noqa: E731
            scores = [sum(map(operator.mul, query, row(k_rows, s))) / math.sqrt(H)
                      for s in range(keys)]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            total, expected = sum(weights), [0.0] * H
            for s, weight in enumerate(weights):
                expected = [e + weight / total * x for e, x in zip(expected, row(v_rows, s))]
            difference += sum((g - e) ** 2 for g, e in zip(got, expected))
            size += sum(e ** 2 for e in expected)
        return difference / size

    def same_bits(self, a, b):
        return bytes(self.read(a, 0, a.bytes // 2)) == bytes(self.read(b, 0, b.bytes // 2))

    def norm_error(self, x, y, rows, width):
        """Of the last row."""
        values, got = (floats(self.read(m, (rows - 1) * width, width)) for m in (x, y))
        scale = 1 / math.sqrt(sum(a * a for a in values) / width + 1e-5)
        return (sum((g - a * scale) ** 2 for g, a in zip(got, values)) /
                sum((a * scale) ** 2 for a in values))

    # --- time -----------------------------------------------------------------------------------
    def handle(self, name):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.pointer(handle))
        return handle

    def events(self):
        return self.handle("event"), self.handle("event")

    def seconds(self, events, stream, run):
        self.call("record", events[0], stream)
        run()
        self.call("record", events[1], stream)
        milliseconds = ctypes.c_float()
        self.call("elapsed", ctypes.pointer(milliseconds), *events)
        return milliseconds.value / 1e3

    def graph(self, call):
        self.stream = self.stream or self.handle("stream")
        return Graph(self, call)


class Graph:
    """Calls of an implementation as a CUDA graph, after some that warm up."""

    def __init__(self, library, call):
        self.library, self.stream, self.events = library, library.stream, library.events()
        for i in range(2):
            call(self.stream, i)
        once = library.seconds(self.events, self.stream, lambda: call(self.stream, 0))
        self.calls = max(1, min(200, round(CALL_SECONDS / max(once, 1e-6))))
        library.call("capture", self.stream)
        try:
            for i in range(self.calls):
                call(self.stream, i)
        finally:
            self.ready = ctypes.c_void_p()
            library.call("captured", ctypes.pointer(self.ready), self.stream)

    def run(self):
        return self.library.seconds(
            self.events, self.stream,
            lambda: self.library.call("replay", self.ready, self.stream)) / self.calls

    def __del__(self):
        if getattr(self, "ready", None):
            self.library.call("free_graph", self.ready)


class Torch:
    """PyTorch's memory, graphs and attention, where it is installed and sees the GPU."""

    @staticmethod
    def find(library):
        try:
            import torch
            if torch.cuda.is_available():
                return Torch(library, torch)
        except Exception as error:  # a broken installation says anything
            print(f"PyTorch cannot be used: {str(error).splitlines()[0] if str(error) else error!r}")
        return None

    def __init__(self, library, torch):
        self.library, self.torch = library, torch
        torch.manual_seed(1)
        self.flash, self.flash_name = None, None
        for module in ("flash_attn_interface", "flash_attn"):  # versions 3 and 2
            try:
                self.flash = __import__(module)
                self.flash_name = module
                break
            except Exception:  # not there, or built for another PyTorch
                continue

    def versions(self):
        return {"torch": self.torch.__version__, "cuda": self.torch.version.cuda,
                "cudnn": self.torch.backends.cudnn.version(),
                self.flash_name or "flash_attn": getattr(self.flash, "__version__", None)}

    def of(self, tensor):
        return Memory(tensor.data_ptr(), tensor.numel() * tensor.element_size(), tensor)

    def memory(self, size):
        return self.of(self.torch.empty(size, dtype=self.torch.uint8, device="cuda"))

    def bfloat16(self, shape):
        return self.of(self.torch.randn(shape, dtype=self.torch.bfloat16, device="cuda"))

    def int32(self, values):
        return self.of(self.torch.tensor(values, dtype=self.torch.int32, device="cuda"))

    def float32(self, values):
        return self.of(self.torch.tensor(values, dtype=self.torch.float32, device="cuda"))

    def collect(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()

    # --- comparisons ----------------------------------------------------------------------------
    def square_error(self, got, expected):
        self.torch.cuda.synchronize()
        got, expected = got.float(), expected.float()
        error = ((got - expected).square().sum() / expected.square().sum()).item()
        return error if math.isfinite(error) else math.inf

    def attention_error(self, q, k, v, out, shape, causal):
        """Of the first and last sequence's first and last key head, in float."""
        B, T, S, N, K, H = shape
        torch, worst = self.torch, 0.0
        torch.cuda.synchronize()
        for b, kv in {(0, 0), (B - 1, K - 1)}:
            group = slice(kv * (N // K), (kv + 1) * (N // K))
            key, value = (x.tensor[b, :, kv].float() for x in (k, v))
            for head in range(group.start, group.stop):
                for begin in range(0, T, 2048):
                    rows = slice(begin, min(T, begin + 2048))
                    scores = q.tensor[b, rows, head].float() @ key.T / math.sqrt(H)
                    if causal:
                        position = torch.arange(S - T, S, device="cuda")[rows, None]
                        scores.masked_fill_(torch.arange(S, device="cuda")[None] > position,
                                            -math.inf)
                    worst = max(worst, self.square_error(out.tensor[b, rows, head],
                                                         scores.softmax(-1) @ value))
        return worst

    def same_bits(self, a, b):
        return bool((a.tensor.view(self.torch.int16) == b.tensor.view(self.torch.int16)).all())

    def norm_error(self, x, y, rows, width):
        values = x.tensor.float()
        return self.square_error(
            y.tensor, values * (values.square().mean(-1, keepdim=True) + 1e-5).rsqrt())

    # --- implementations ------------------------------------------------------------------------
    def product(self, x, w):
        return lambda stream, i: self.torch.matmul(x.tensor, w.tensor.T)

    def scaled_dot_product(self, kind, q, k, v, causal):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        backend = getattr(SDPBackend, kind)
        grouped = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
        with sdpa_kernel(backend):
            return self.torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, **grouped)

    def attention(self, q, k, v, causal):
        heads = [x.tensor.transpose(1, 2) for x in (q, k, v)]
        calls = {name: lambda s, i, kind=kind: self.scaled_dot_product(kind, *heads, causal)
                 for name, kind in (("flash", "FLASH_ATTENTION"), ("cudnn", "CUDNN_ATTENTION"))}
        if self.flash:
            calls[self.flash_name] = lambda s, i: self.flash.flash_attn_func(
                q.tensor, k.tensor, v.tensor, causal=causal)
        return calls

    def decode(self, q, kv):
        query = q.tensor.transpose(1, 2)
        sets = [[x.tensor.transpose(1, 2) for x in pair] for pair in kv]
        calls = {name: lambda s, i, kind=kind: self.scaled_dot_product(
            kind, query, *sets[i % len(sets)], False)
            for name, kind in (("flash", "FLASH_ATTENTION"), ("cudnn", "CUDNN_ATTENTION"))}
        if self.flash and hasattr(self.flash, "flash_attn_with_kvcache"):
            calls[self.flash_name] = lambda s, i: self.flash.flash_attn_with_kvcache(
                q.tensor, kv[i % len(kv)][0].tensor, kv[i % len(kv)][1].tensor)
        return calls

    # --- time -----------------------------------------------------------------------------------
    def graph(self, call):
        return TorchGraph(self, call)


class TorchGraph:
    """Calls as one of PyTorch's graphs: ours run on the stream that it captures."""

    def __init__(self, torch, call):
        self.torch, self.library = torch.torch, torch.library
        cuda = self.torch.cuda
        self.events = torch.library.events()
        side = cuda.Stream()
        with cuda.stream(side):
            for i in range(2):
                call(side.cuda_stream, i)
            once = self.library.seconds(self.events, side.cuda_stream,
                                        lambda: call(side.cuda_stream, 0))
        cuda.synchronize()
        self.calls = max(1, min(200, round(CALL_SECONDS / max(once, 1e-6))))
        self.ready = cuda.CUDAGraph()
        with cuda.graph(self.ready):
            for i in range(self.calls):
                call(cuda.current_stream().cuda_stream, i)
        cuda.synchronize()

    def run(self):
        stream = self.torch.cuda.current_stream().cuda_stream
        return self.library.seconds(self.events, stream, self.ready.replay) / self.calls
