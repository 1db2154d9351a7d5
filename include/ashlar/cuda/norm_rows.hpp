// RMSNorm and LayerNorm of rows, alone or behind the addition of a branch to the residual stream.
//
// A block takes a row. Each thread keeps its pieces of the row in registers, so that memory is read
// once; what is longer is read again, from the caches.
#pragma once

#include <ashlar/cuda/block_reduce.hpp>
#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/row_access.hpp>
#include <ashlar/ops/norm_gain.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI::cuda {

enum class NormKind { rms, layer };

/// y = norm(x), or x += scale * branch, rounded to T, and y = norm(x). x, branch, y [M, D]; gain,
/// bias, branch_scale [D] or empty. y may be x.
template <class T, bool AddBranch>
struct NormArguments {
  MatrixView<std::conditional_t<AddBranch, T, const T>> x;
  VectorView<const float> gain, bias{};
  MatrixView<T> y;
  float eps = 1e-6f;
  MatrixView<const T> branch{};
  VectorView<const float> branch_scale{};
};

/// Gain is a rule of ops/norm_gain.hpp, and its roundings are those of rms_norm and layer_norm.
/// Threads hold rows of Warps * 32 * Held pieces without a second read.
template <NormKind Kind, class T, class Gain, bool AddBranch, int Warps, int Held>
struct NormRows {
  using Arguments = NormArguments<T, AddBranch>;
  static constexpr int needs_architecture = 0;
  static constexpr int warps = Warps, threads = 32 * warps;
  static constexpr int blocks_per_multiprocessor =
      (Held * (AddBranch ? 2 : 1) > 4 ? 512 : 1024) / threads;
  static constexpr int N = piece<T>;
  static constexpr index_t held_width = index_t{threads} * Held * N;
  static std::size_t shared_bytes(const Arguments&) { return 3 * sum_bytes(warps); }
  static Grid grid(const Arguments& a) { return {a.x.extent(0)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t m = P::block_x(), D = a.x.extent(1);
    Row<P> row{a.x.row(m), D, {}};
    row.load();
    if constexpr (AddBranch) row.add(a, a.branch.row(m));

    const auto n = static_cast<float>(D);
    const std::uint32_t place = P::shared_base();
    const auto sum = [&](int which, auto term) {
      float s = 0.f;
      row.each([&](index_t first, const float(&x)[N]) {
        ASHLAR_DEVICE_UNROLL
        for (int e = 0; e < N; ++e)
          if (first + e < D) s = term(s, x[e]);
      });
      return block_sum<P, warps>(s, place + static_cast<std::uint32_t>(which) * sum_bytes(warps));
    };
    // The mean of the deviations from the rounded mean is taken off as well, so that rows whose
    // mean dwarfs their spread come out right.
    float mean = 0.f, rest = 0.f;
    if constexpr (Kind == NormKind::layer) {
      mean = sum(0, [](float s, float x) { return s + x; }) / n;
      rest = sum(1, [&](float s, float x) { return s + (x - mean); }) / n;
    }
    const auto deviation = [&](float x) { return Kind == NormKind::layer ? (x - mean) - rest : x; };
    const float squares = sum(2, [&](float s, float x) {
      const float d = deviation(x);
      return std::fma(d, d, s);
    });
    const float scale = 1.f / std::sqrt(squares / n + a.eps);

    row.each([&](index_t first, const float(&x)[N]) {
      float y[N], w[N], b[N] = {};
      ASHLAR_DEVICE_UNROLL
      for (int e = 0; e < N; ++e) y[e] = deviation(x[e]) * scale;
      if (!a.gain.empty()) load_channels<P>(a.gain.data(), first, D, w);
      if constexpr (Kind == NormKind::rms) {
        if (!a.gain.empty()) {
          if constexpr (std::is_same_v<Gain, gain::AfterRounding>)
            to_floats<P, T>(to_piece<P, T>(y), y);
          ASHLAR_DEVICE_UNROLL
          for (int e = 0; e < N; ++e) y[e] = Gain::template apply<float>(y[e], w[e]);
        }
      } else {
        if (!a.bias.empty()) load_channels<P>(a.bias.data(), first, D, b);
        ASHLAR_DEVICE_UNROLL
        for (int e = 0; e < N; ++e)
          y[e] = std::fma(y[e], a.gain.empty() ? 1.f : Gain::factor(w[e]), b[e]);
      }
      store_piece<P>(a.y.row(m), first, D, to_piece<P, T>(y));
    });
  }

 private:
  /// A thread's share of a row: pieces thread, thread + threads, ..
  template <class P>
  struct Row {
    std::conditional_t<AddBranch, T, const T>* x;
    index_t width;
    Quad held[Held];

    ASHLAR_DEVICE static index_t first(int i) { return (index_t{i} * threads + P::thread()) * N; }
    ASHLAR_DEVICE void load() {
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < Held; ++i)
        held[i] = first(i) < width ? load_piece<P>(x, first(i), width) : Quad{};
    }
    ASHLAR_DEVICE void add(const Arguments& a, const T* branch) {
      Quad more[Held];
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < Held; ++i)
        more[i] = first(i) < width ? load_piece<P>(branch, first(i), width) : Quad{};
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < Held; ++i)
        if (first(i) < width) held[i] = add_piece(a, held[i], more[i], first(i));
      for (index_t f = first(Held); f < width; f += index_t{threads} * N)
        add_piece(a, load_piece<P>(x, f, width), load_piece<P>(branch, f, width), f);
    }
    ASHLAR_DEVICE Quad add_piece(const Arguments& a, const Quad& stream, const Quad& branch,
                                 index_t at) {
      float s[N], b[N], w[N];
      to_floats<P, T>(stream, s);
      to_floats<P, T>(branch, b);
      if (!a.branch_scale.empty()) load_channels<P>(a.branch_scale.data(), at, width, w);
      ASHLAR_DEVICE_UNROLL
      for (int e = 0; e < N; ++e)
        s[e] = a.branch_scale.empty() ? s[e] + b[e] : std::fma(w[e], b[e], s[e]);
      const Quad sum = to_piece<P, T>(s);
      store_piece<P>(x, at, width, sum);
      return sum;
    }
    /// f(first element, values) of each piece; values past the row's end are 0.
    template <class F>
    ASHLAR_DEVICE void each(F f) const {
      float v[N];
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < Held; ++i) {
        if (first(i) >= width) continue;
        to_floats<P, T>(held[i], v);
        f(first(i), v);
      }
      for (index_t at = first(Held); at < width; at += index_t{threads} * N) {
        to_floats<P, T>(load_piece<P>(x, at, width), v);
        f(at, v);
      }
    }
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
