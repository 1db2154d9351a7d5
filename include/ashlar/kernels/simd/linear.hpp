// linear on SIMD: the order of sums and the bits of the scalar kernel, at the speed of the memory
// for M = 1 and of the arithmetic for large M.
#pragma once

#include <ashlar/kernels/simd/linear_tiles.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/weights/pack.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {
namespace simd_linear {

/// Calls f.template operator()<type>().
template <class F>
void with_type(DType type, const F& f) {
  switch (type) {
    case DType::f32:
      return f.template operator()<DType::f32>();
    case DType::f16:
      return f.template operator()<DType::f16>();
    case DType::bf16:
      return f.template operator()<DType::bf16>();
    case DType::q8_0:
      return f.template operator()<DType::q8_0>();
    case DType::q4_0:
      return f.template operator()<DType::q4_0>();
    case DType::q4_1:
      return f.template operator()<DType::q4_1>();
    case DType::q5_0:
      return f.template operator()<DType::q5_0>();
    case DType::q5_1:
      return f.template operator()<DType::q5_1>();
    case DType::q4_k:
      return f.template operator()<DType::q4_k>();
    case DType::q5_k:
      return f.template operator()<DType::q5_k>();
    case DType::q6_k:
      return f.template operator()<DType::q6_k>();
    default:
      fail<ValueError>("linear: no kernel for weights of type ", info(type).name);
  }
}

/// Blocks of k of panels: in place, or packed into scratch memory for weights in rows.
struct PanelSource {
  const WeightMatrix& w;
  index_t panel_size, block_size;  // bytes of K and of linear_block k

  explicit PanelSource(const WeightMatrix& weights)
      : w(weights),
        panel_size(panel_bytes(weights.type(), weights.columns())),
        block_size(panel_bytes(weights.type(), linear_block)) {}

  bool packed() const { return w.layout() == WeightLayout::panels; }
  /// Bytes of scratch that `panels` panels need.
  index_t scratch_bytes(index_t panels) const { return packed() ? 0 : panels * block_size; }

  struct Block {
    const std::byte* data;
    index_t distance;
  };
  /// Columns from k0 of `panels` panels from `first` on, `step` panels apart.
  Block block(index_t first, index_t step, index_t panels, index_t k0, std::byte* scratch) const {
    if (packed())
      return {w.data() + first * panel_size + k0 / linear_block * block_size, step * panel_size};
    for (index_t p = 0; p < panels; ++p)
      ashlar::detail::pack_panel(w, (first + p * step) * panel_rows, k0,
                         min_index(w.columns(), k0 + linear_block), scratch + p * block_size);
    return {scratch, block_size};
  }
};

/// Tasks to hand out: a few a worker to balance them, but none below some 30 microseconds.
inline index_t task_count(double operations, double least, int workers) {
  const double tasks = operations / least;
  const index_t most = 4 * static_cast<index_t>(workers);
  return tasks < 1 ? 1 : tasks < static_cast<double>(most) ? static_cast<index_t>(tasks) : most;
}

/// M = 1. Panels pass in lockstep from far-apart parts of the matrix, what is left over alone.
template <DType Type>
void run_row(HostContext& ctx, const float* x, const WeightMatrix& w, VectorView<const float> bias,
             float* y) {
  constexpr int together = lockstep<Type>;
  const PanelSource source(w);
  const index_t N = w.rows(), K = w.columns();
  // Streams a large power of two apart fall on one memory bank and read at half speed.
  index_t step = N / panel_rows / together;
  if (step > 0 && step * source.panel_size % (index_t{1} << 20) == 0) --step;
  const index_t units = step + ceil_div(N, panel_rows) - step * together;

  Scratch::Frame frame(ctx.scratch());
  const index_t scratch_bytes = source.scratch_bytes(together);
  std::byte* scratch = frame.get<std::byte>(scratch_bytes * ctx.workers());

  const auto run = [&]<int Panels>(index_t first, std::byte* own) {
    alignas(64) float sum[Panels * panel_rows];
    for (index_t k0 = 0; k0 < K; k0 += linear_block) {
      const auto block = source.block(first, step, Panels, k0, own);
      multiply_row<Type, Panels>(block.data, block.distance, x + k0,
                                 min_index(linear_block, K - k0), k0 == 0, sum);
    }
    for (int p = 0; p < Panels; ++p) {
      const index_t n0 = (first + p * step) * panel_rows;
      for (index_t n = n0; n < min_index(N, n0 + panel_rows); ++n)
        y[n] = bias.empty() ? sum[p * panel_rows + n - n0] : sum[p * panel_rows + n - n0] + bias(n);
    }
  };
  const double products = static_cast<double>(N) * static_cast<double>(K);
  const index_t tasks = min_index(units, task_count(products, 1 << 17, ctx.workers()));
  parallel_for(ctx.executor(), tasks, [&](index_t task, int worker) {
    std::byte* own = scratch + worker * scratch_bytes;
    for (index_t u = units * task / tasks; u < units * (task + 1) / tasks; ++u)
      if (u < step)
        run.template operator()<together>(u, own);
      else
        run.template operator()<1>(u - step + step * together, own);
  });
}

/// Rows [M, K] with any stride as tiles [M / tile_rows][K][rows of the tile].
inline void pack_rows(const Executor& executor, MatrixView<const float> x, float* out) {
  const index_t M = x.extent(0), K = x.extent(1);
  const bool small = M * K < (index_t{1} << 16);
  parallel_for(small ? Executor{} : executor, ceil_div(M, tile_rows), [&](index_t t, int) {
    const index_t m0 = t * tile_rows, rows = min_index(tile_rows, M - m0);
    float* to = out + m0 * K;
    constexpr index_t step = 16;  // one cache line of each row at a time
    for (index_t k0 = 0; k0 < K; k0 += step)
      for (index_t m = 0; m < rows; ++m) {
        const float* from = x.row(m0 + m);
        for (index_t k = k0; k < min_index(K, k0 + step); ++k) to[k * rows + m] = from[k];
      }
  });
}

/// M > 1: x packed in tiles, weights of any type widened to floats a block of k at a time.
struct RowBlock {
  static constexpr index_t most_rows = 504;  // bounds the scratch memory to 504 K floats
  static constexpr index_t most_units = 8;   // of tile_panels: x is read again for each task only

  const PanelSource& source;
  VectorView<const float> bias;
  MatrixView<float> y;
  const float* x;  // packed
  float* tail;     // [rows, 16]: sums of a last panel with less than 16 rows

  /// Bytes a worker needs: floats of a block, and what the source takes.
  static constexpr index_t widened = linear_block * panel_rows;
  index_t scratch_bytes() const {
    return tile_panels * widened * static_cast<index_t>(sizeof(float)) +
           source.scratch_bytes(tile_panels);
  }

  /// The product with `Panels` panels from `first` on and columns from k0.
  template <DType Type, int Panels>
  void multiply(index_t first, index_t k0, std::byte* scratch) const {
    const index_t N = source.w.rows(), K = source.w.columns(), n0 = first * panel_rows;
    const index_t count = min_index(linear_block, K - k0);
    auto* floats = reinterpret_cast<float*>(scratch);
    const auto block =
        source.block(first, 1, Panels, k0,
                     scratch + tile_panels * widened * static_cast<index_t>(sizeof(float)));
    TileInput in{floats, widened, nullptr, count};
    if constexpr (Type == DType::f32) {
      in.w = reinterpret_cast<const float*>(block.data);
      in.distance = block.distance / static_cast<index_t>(sizeof(float));
    } else {
      for (int p = 0; p < Panels; ++p)
        widen_panel<Type>(block.data + p * block.distance, count, floats + p * widened);
    }
    const bool last = k0 + count == K, whole = n0 + Panels * panel_rows <= N;
    alignas(64) float tail_bias[panel_rows] = {};
    TileOutput out{nullptr, whole ? y.stride(0) : panel_rows, nullptr, k0 == 0};
    if (last && !bias.empty()) {
      out.bias = bias.data() + n0;
      if (!whole) {
        for (index_t n = n0; n < N; ++n) tail_bias[n - n0] = bias(n);
        out.bias = tail_bias;
      }
    }
    for (index_t m = 0; m < y.extent(0); m += tile_rows) {
      const index_t rows = min_index(tile_rows, y.extent(0) - m);
      in.x = x + m * K + k0 * rows;
      out.y = whole ? y.row(m) + n0 : tail + m * panel_rows;
      tiles<Panels>[static_cast<std::size_t>(rows - 1)](in, out);
    }
    if (last && !whole)
      for (index_t m = 0; m < y.extent(0); ++m)
        for (index_t n = n0; n < N; ++n) y(m, n) = tail[m * panel_rows + n - n0];
  }

  template <DType Type>
  void run(const Executor& executor, std::byte* scratch) const {
    const index_t N = source.w.rows(), K = source.w.columns();
    const index_t groups = N / panel_rows / tile_panels;
    const index_t units = groups + ceil_div(N, panel_rows) - groups * tile_panels;
    const double products = static_cast<double>(y.size()) * static_cast<double>(K);
    const index_t wanted = task_count(products, 1 << 20, executor.workers);
    const index_t tasks = min_index(units, max_index(wanted, ceil_div(units, most_units)));
    const index_t own = scratch_bytes();
    parallel_for(executor, tasks, [&](index_t task, int worker) {
      for (index_t k0 = 0; k0 < K; k0 += linear_block)
        for (index_t u = units * task / tasks; u < units * (task + 1) / tasks; ++u)
          if (u < groups)
            multiply<Type, tile_panels>(u * tile_panels, k0, scratch + worker * own);
          else
            multiply<Type, 1>(u - groups + groups * tile_panels, k0, scratch + worker * own);
    });
  }
};

}  // namespace simd_linear

/// Float activations. Others take the scalar kernel.
template <>
struct LinearKernel<backend::SimdCpu> : LinearKernel<backend::ScalarCpu> {
  using LinearKernel<backend::ScalarCpu>::run;

  static void run(HostContext& ctx, MatrixView<const float> x, const WeightMatrix& w,
                  VectorView<const float> bias, MatrixView<float> y) {
    using namespace simd_linear;
    const index_t M = x.extent(0), K = w.columns();
    if (K == 0) return run<float>(ctx, x, w, bias, y);
    if (M == 1)
      return with_type(w.type(),
                       [&]<DType Type>() { run_row<Type>(ctx, x.data(), w, bias, y.data()); });
    const PanelSource source(w);
    const index_t most = min_index(M, RowBlock::most_rows);
    Scratch::Frame frame(ctx.scratch());
    RowBlock block{source, bias, y, nullptr, nullptr};
    float* packed = frame.get<float>(most * K);
    block.x = packed;
    block.tail = frame.get<float>(most * panel_rows);
    std::byte* scratch = frame.get<std::byte>(block.scratch_bytes() * ctx.workers());
    for (index_t m = 0; m < M; m += most) {
      const index_t end = min_index(M, m + most);
      pack_rows(ctx.executor(), x.slice(0, m, end), packed);
      block.y = y.slice(0, m, end);
      with_type(w.type(), [&]<DType Type>() { block.run<Type>(ctx.executor(), scratch); });
    }
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
