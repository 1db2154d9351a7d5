// Products of a few rows with weights in panels: what decoding spends its time on, at the speed of
// the memory that holds the weights.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/panel_pieces.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// x [M, K], w [N, K] in panels, 16-byte aligned, bias [N] or empty, y [M, N].
template <class T, class Y>
struct GemvArguments {
  MatrixView<const T> x;
  DeviceWeights w;
  VectorView<const float> bias{};
  MatrixView<Y> y;
};

/// y[m][n] = sum_k x[m][k] w[n][k] + bias[n] for up to `Rows` rows, sums in f32. A block takes a
/// panel of 16 n. The order of a sum: thread t of the block adds pieces t, t + threads, .. of the
/// panel, each with ascending k; then lanes fold by halves, and warps follow each other. It depends
/// on K and the type of w only, so that a row's bits are the same in every batch.
template <DType Type, class T, class Y, int Rows>
struct Gemv {
  using Arguments = GemvArguments<T, Y>;
  using Pieces = PanelPieces<Type>;
  static constexpr int needs_architecture = 0;
  static constexpr int warps = 8, threads = 32 * warps;
  static constexpr int blocks_per_multiprocessor = Rows == 1                                    ? 3
                                                   : Pieces::blocks && Rows * Pieces::parts > 4 ? 1
                                                                                                : 2;
  static constexpr int together = 4;  // pieces that a thread reads at once
  static std::size_t shared_bytes(const Arguments&) { return warps * Rows * 16 * sizeof(float); }
  static Grid grid(const Arguments& a) { return {ceil_div(a.w.rows, panel_rows)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const int thread = P::thread(), lane = thread % 32, warp = thread / 32;
    const index_t K = a.w.columns, count = Pieces::count(K);
    const std::uint8_t* panel = a.w.data + P::block_x() * Pieces::panel_size(K);
    const Activations x{a.x};

    float sum[Rows][Pieces::rows] = {};
    for (index_t i0 = thread; i0 < count; i0 += threads * together) {
      typename Pieces::Stored stored[together];
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < together; ++i)
        if (i0 + i * threads < count) stored[i] = Pieces::template load<P>(panel, i0 + i * threads);
      ASHLAR_DEVICE_UNROLL
      for (int i = 0; i < together; ++i) {
        if (i0 + i * threads >= count) break;
        const index_t k = Pieces::first_k(i0 + i * threads);
        ASHLAR_DEVICE_UNROLL
        for (int part = 0; part < Pieces::parts; ++part)
          add<P>(sum, stored[i], part, x, k + part * Pieces::depth);
      }
    }
    const std::uint32_t base = P::shared_base();
    const auto place = [base](int of_warp, int m, int row) {
      return base + static_cast<std::uint32_t>((of_warp * Rows + m) * 16 + row) * 4;
    };
    ASHLAR_DEVICE_UNROLL
    for (int m = 0; m < Rows; ++m) {
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < Pieces::rows; ++r) {
        // Lanes whose numbers agree modulo side_by_side have the same rows.
        ASHLAR_DEVICE_UNROLL
        for (int mask = 16; mask >= Pieces::side_by_side; mask /= 2)
          sum[m][r] += P::shuffle_xor(sum[m][r], mask);
        if (lane < Pieces::side_by_side)
          P::store_shared(place(warp, m, Pieces::first_row(lane) + r), sum[m][r]);
      }
    }
    P::sync_block();
    const int m = thread / 16, row = thread % 16;
    const index_t n = P::block_x() * panel_rows + row;
    if (m >= Rows || m >= a.x.extent(0) || n >= a.w.rows) return;
    float y = 0.f;
    for (int w = 0; w < warps; ++w) y += P::template load_shared<float>(place(w, m, row));
    if (!a.bias.empty()) y += a.bias.data()[n];
    a.y.row(m)[n] = static_cast<Y>(y);
  }

 private:
  static_assert(Rows * 16 <= threads);
  struct Activations;

  /// Adds the products of one part of a piece.
  template <class P>
  static ASHLAR_DEVICE void add(float (&sum)[Rows][Pieces::rows],
                                const typename Pieces::Stored& stored, int part,
                                const Activations& x, index_t k) {
    float w[Pieces::rows][Pieces::depth];
    Pieces::template values<P>(stored, part, w);
    ASHLAR_DEVICE_UNROLL
    for (int m = 0; m < Rows; ++m) {
      float v[Pieces::depth];
      x.template load<P>(m, k, v);
      ASHLAR_DEVICE_UNROLL
      for (int d = 0; d < Pieces::depth; ++d) {
        ASHLAR_DEVICE_UNROLL
        for (int r = 0; r < Pieces::rows; ++r) sum[m][r] = std::fma(v[d], w[r][d], sum[m][r]);
      }
    }
  }

  struct Activations {
    MatrixView<const T> x;
    bool aligned;

    ASHLAR_DEVICE explicit Activations(const MatrixView<const T>& of)
        : x(of),
          aligned(is_aligned<Part>(of.data()) && is_aligned<Part>(of.data() + of.stride(0))) {}
    /// x[m][k ..] as floats, zeros past the row's end. Past the last row is that row again.
    template <class P>
    ASHLAR_DEVICE void load(int m, index_t k, float (&v)[Pieces::depth]) const {
      const T* from = x.row(min_index(m, x.extent(0) - 1)) + k;
      if constexpr (bytes >= 4) {
        if (aligned && k + Pieces::depth <= x.extent(1)) {
          to_floats<P, T>(P::template load<Part>(from), v);
          return;
        }
      }
      ASHLAR_DEVICE_UNROLL
      for (int d = 0; d < Pieces::depth; ++d)
        v[d] = k + d < x.extent(1) ? static_cast<float>(from[d]) : 0.f;
    }

    static constexpr int bytes = Pieces::depth * static_cast<int>(sizeof(T));
    using Part = Words<(bytes >= 4 ? bytes / 4 : 1)>;
  };
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
