#!/usr/bin/env python3
"""The lint finds each kind of fault, and nothing in a sound tree."""
import tempfile
import unittest
from pathlib import Path

from layers import check_tree

SOUND = {
    "version.hpp": "#pragma once\n#define ASHLAR_VERSION_MAJOR 0\n",
    "core/view.hpp": "#pragma once\n#include <ashlar/version.hpp>\n#include <vector>\n",
    "ops/norm.hpp": "#pragma once\n#include <ashlar/core/view.hpp>\n"
                    "namespace ashlar::inline ASHLAR_ABI {\nnamespace detail {\nint f(MatrixView<int>) { return 0; }\n}\n"
                    "template <class T>\nconcept C = requires(VectorView<T> x) { x(); };\n"
                    "/// y = x.\n/// Shapes: x [M, D]\ntemplate <class B>\nvoid norm(MatrixView<B> x) { x(); }\n"
                    "struct Options { int get() const { return 1; } };\n}\n",
}


def problems(extra):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**SOUND, **extra}.items():
            file = Path(folder) / "ashlar" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check_tree(folder)


class LayersTest(unittest.TestCase):
    def fault(self, name, text, message):
        found = problems({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(message, found[0])

    def test_sound_tree(self):
        self.assertEqual(problems({}), [])

    def test_empty_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("no header", check_tree(folder)[0])

    def test_upward_include(self):
        self.fault("core/a.hpp", "#pragma once\n#include <ashlar/ops/norm.hpp>\n", "layer 3")

    def test_sideways_include(self):
        self.fault("weights/a.hpp", "#pragma once\n#include <ashlar/ops/norm.hpp>\n", "another folder")

    def test_nn_includes_kernels(self):
        self.fault("nn/a.hpp", "#pragma once\n#include <ashlar/kernels/simd/a.hpp>\n", "kernels")

    def test_host_includes_cuda(self):
        self.fault("kernels/a.hpp", "#pragma once\n#include <ashlar/kernels/cuda/a.cuh>\n", ".cuh")

    def test_unknown_folder(self):
        self.fault("core/a.hpp", "#pragma once\n#include <ashlar/extra/a.hpp>\n", "no layer")

    def test_third_party(self):
        self.fault("core/a.hpp", "#pragma once\n#include <xsimd/xsimd.hpp>\n", "allowed only")
        self.fault("core/a.hpp", "#pragma once\n#include <fmt/core.h>\n", "no standard header")

    def test_macros(self):
        self.fault("version.hpp", "#pragma once\n#define MAX 1\n", "does not begin")
        self.fault("core/a.hpp", "#pragma once\n#define ASHLAR_X 1\n", "outside")
        many = "".join(f"#define ASHLAR_M{i} 1\n" for i in range(12))  # and one of version.hpp
        self.fault("config.hpp", "#pragma once\n" + many, "13 macros")

    def test_long_header(self):
        self.fault("core/a.hpp", "#pragma once\n" + "\n" * 400, "401 lines")

    def test_no_guard(self):
        self.fault("core/a.hpp", "int x;\n", "#pragma once")

    def test_function_without_shapes(self):
        head = "#pragma once\nnamespace ashlar::inline ASHLAR_ABI {\n"
        self.fault("ops/a.hpp", head + "/// y = x.\ntemplate <class B>\nvoid scale(MatrixView<B> x) {\n  x();\n}\n}\n",
                   "scale has no Shapes")

    def test_inner_namespace_is_private(self):
        self.assertEqual(problems({"ops/a.hpp": "#pragma once\nnamespace ashlar::inline ASHLAR_ABI::"
                                                "detail {\nvoid f(MatrixView<int> x) { x(); }\n}\n"}), [])


if __name__ == "__main__":
    unittest.main()
