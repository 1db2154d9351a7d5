// Weights in panels as rows of elements: what products of many rows read.
#pragma once

#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/panel_pieces.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// w [N, K] in panels, 16-byte aligned, y [N, K].
template <class T>
struct UnpackArguments {
  DeviceWeights w;
  MatrixView<T> y;
};

/// y[n][k] = w[n][k], rounded once to T.
template <DType Type, class T>
struct UnpackRows {
  using Arguments = UnpackArguments<T>;
  using Pieces = PanelPieces<Type>;
  static constexpr int needs_architecture = 0;
  static constexpr int threads = 256, blocks_per_multiprocessor = 4;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) {
    return {ceil_div(a.w.rows, panel_rows), ceil_div(Pieces::count(a.w.columns), threads)};
  }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t K = a.w.columns, i = P::block_y() * index_t{threads} + P::thread();
    if (i >= Pieces::count(K)) return;
    const std::uint8_t* panel = a.w.data + P::block_x() * Pieces::panel_size(K);
    const auto stored = Pieces::template load<P>(panel, i);
    const index_t n0 = P::block_x() * index_t{panel_rows} + Pieces::first_row(i);
    ASHLAR_DEVICE_UNROLL
    for (int part = 0; part < Pieces::parts; ++part) {
      float w[Pieces::rows][Pieces::depth];
      Pieces::template values<P>(stored, part, w);
      const index_t k = Pieces::first_k(i) + part * Pieces::depth;
      ASHLAR_DEVICE_UNROLL
      for (int r = 0; r < Pieces::rows; ++r) {
        if (n0 + r >= a.w.rows) continue;
        ASHLAR_DEVICE_UNROLL
        for (int d = 0; d < Pieces::depth; ++d)
          if (k + d < K) a.y.row(n0 + r)[k + d] = static_cast<T>(w[r][d]);
      }
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
