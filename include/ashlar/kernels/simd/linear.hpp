// linear on SIMD: the order of sums and the bits of the scalar kernel, at the speed of the memory
// for M = 1 and of the arithmetic for large M.
#pragma once

#include <ashlar/kernels/simd/linear_sources.hpp>
#include <ashlar/kernels/simd/linear_tiles.hpp>

namespace ashlar::inline ASHLAR_ABI::kernels {
namespace simd_linear {

/// Tasks to hand out: a few a worker to balance them, but none below some 30 microseconds.
inline index_t task_count(double operations, double least, int workers) {
  const double tasks = operations / least;
  const index_t most = 4 * static_cast<index_t>(workers);
  return tasks < 1 ? 1 : tasks < static_cast<double>(most) ? static_cast<index_t>(tasks) : most;
}

/// M = 1. Panels pass in lockstep from far-apart parts of the matrix, what is left over alone, as a
/// tile of one row.
inline void run_row(HostContext& ctx, const float* x, const WeightMatrix& w,
                    VectorView<const float> bias, float* y) {
  const TypeKernels& kernels = kernels_of(w.type());
  const int together = kernels.lockstep;
  const PanelSource source(w);
  const index_t N = w.rows(), K = w.columns();
  // Streams a large power of two apart fall on one memory bank and read at half speed.
  index_t step = N / panel_rows / together;
  if (step > 0 && step * source.panel_size % (index_t{1} << 20) == 0) --step;
  const index_t units = step + ceil_div(N, panel_rows) - step * together;

  Scratch::Frame frame(ctx.scratch());
  const index_t scratch_bytes = source.scratch_bytes(together);
  std::byte* scratch = frame.get<std::byte>(scratch_bytes * ctx.workers());

  const auto run = [&](index_t first, int panels, std::byte* own) {
    alignas(64) float sum[most_lockstep * panel_rows], floats[widened_panel];
    for (index_t k0 = 0; k0 < K; k0 += linear_block) {
      const auto block = source.block(first, step, panels, k0, own);
      const index_t count = min_index(linear_block, K - k0);
      if (panels > 1) {
        kernels.multiply_row(block.data, block.distance, x + k0, count, k0 == 0, sum);
      } else {
        const Widened panel = kernels.widen(block, 1, count, floats);
        multiply_tile(1, 1, {panel.data, panel.distance, x + k0, count, sum, k0 == 0});
      }
    }
    for (int p = 0; p < panels; ++p) {
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
        run(u, together, own);
      else
        run(u - step + step * together, 1, own);
  });
}

/// M > 1: x packed in tiles, weights of any type widened to floats a block of k at a time. A task
/// owns some columns of y and keeps their sums in scratch memory until they are complete: rows of y
/// a power of two apart would fall out of the caches between two blocks of k.
class BatchProduct {
 public:
  static constexpr index_t most_rows = 504;  // of x at a time: bounds the scratch memory
  /// Of tile_panels a task: its sums stay in the cache.
  static constexpr index_t most_units = tile_panels == 1 ? 8 : 4;

  BatchProduct(HostContext& ctx, const WeightMatrix& w, VectorView<const float> bias)
      : ctx_(ctx), source_(w), kernels_(kernels_of(w.type())), bias_(bias) {}

  void run(MatrixView<const float> x, MatrixView<float> y) const {
    const index_t M = x.extent(0), N = y.extent(1), K = x.extent(1);
    const index_t groups = N / panel_rows / tile_panels;
    const index_t units = groups + ceil_div(N, panel_rows) - groups * tile_panels;
    const double products = static_cast<double>(y.size()) * static_cast<double>(K);
    const index_t wanted = task_count(products, 1 << 20, ctx_.workers());
    const index_t tasks = min_index(units, max_index(wanted, ceil_div(units, most_units)));

    Scratch::Frame frame(ctx_.scratch());
    float* packed = frame.get<float>(M * K);
    const index_t unit_sums = M * tile_panels * panel_rows;
    const index_t own_floats = tile_panels * widened_panel + ceil_div(units, tasks) * unit_sums;
    float* floats = frame.get<float>(own_floats * ctx_.workers());
    const index_t own_bytes = source_.scratch_bytes(tile_panels);
    std::byte* bytes = frame.get<std::byte>(own_bytes * ctx_.workers());

    pack_tiles(ctx_.executor(), x, packed);
    parallel_for(ctx_.executor(), tasks, [&](index_t task, int worker) {
      const Workspace own{packed, floats + worker * own_floats, bytes + worker * own_bytes};
      const index_t begin = units * task / tasks, end = units * (task + 1) / tasks;
      const auto each_unit = [&](const auto& f) {
        float* sum = own.widened + tile_panels * widened_panel;
        for (index_t u = begin; u < end; ++u, sum += unit_sums)
          if (u < groups)
            f(u * tile_panels, tile_panels, sum);
          else
            f(u - groups + groups * tile_panels, 1, sum);
      };
      for (index_t k0 = 0; k0 < K; k0 += linear_block)
        each_unit([&](index_t first, int panels, float* sum) {
          multiply(own, first, panels, k0, M, sum);
        });
      each_unit([&](index_t first, int panels, const float* sum) {
        write(first * panel_rows, panels * panel_rows, sum, y);
      });
    });
  }

 private:
  struct Workspace {
    const float* x;     // packed
    float* widened;     // [tile_panels][256][16]
    std::byte* source;  // what PanelSource takes
  };

  /// sum[M][panels * 16] (+)= the product of one block of k and panels from `first` on.
  void multiply(const Workspace& own, index_t first, int panels, index_t k0, index_t M,
                float* sum) const {
    const index_t K = source_.w.columns(), count = min_index(linear_block, K - k0);
    const Widened weights =
        kernels_.widen(source_.block(first, 1, panels, k0, own.source), panels, count, own.widened);
    for (index_t m = 0; m < M; m += tile_rows) {
      const index_t rows = min_index(tile_rows, M - m);
      multiply_tile(panels, rows,
                    {weights.data, weights.distance, own.x + m * K + k0 * rows, count,
                     sum + m * panels * panel_rows, k0 == 0});
    }
  }

  /// y[:, n0 ...] = sum + bias.
  void write(index_t n0, index_t width, const float* sum, MatrixView<float> y) const {
    const index_t count = min_index(width, y.extent(1) - n0);
    const float* bias = bias_.empty() ? nullptr : bias_.data() + n0;
    for (index_t m = 0; m < y.extent(0); ++m, sum += width) {
      float* to = y.row(m) + n0;
      index_t n = 0;
      for (; n + simd::lanes <= count; n += simd::lanes) {
        const Vf v = simd::load(sum + n);
        simd::store(to + n, bias ? simd::add(v, simd::load(bias + n)) : v);
      }
      for (; n < count; ++n) to[n] = bias ? sum[n] + bias[n] : sum[n];
    }
  }

  HostContext& ctx_;
  PanelSource source_;
  const TypeKernels& kernels_;
  VectorView<const float> bias_;
};

}  // namespace simd_linear

/// Float activations. Others take the scalar kernel.
template <>
struct LinearKernel<backend::SimdCpu> : LinearKernel<backend::ScalarCpu> {
  using LinearKernel<backend::ScalarCpu>::run;

  static void run(HostContext& ctx, MatrixView<const float> x, const WeightMatrix& w,
                  VectorView<const float> bias, MatrixView<float> y) {
    using namespace simd_linear;
    if (w.columns() == 0) return run<float>(ctx, x, w, bias, y);
    const index_t M = x.extent(0);
    if (M == 1) return run_row(ctx, x.data(), w, bias, y.data());
    const BatchProduct product(ctx, w, bias);
    constexpr index_t step = BatchProduct::most_rows;
    for (index_t m = 0; m < M; m += step)
      product.run(x.slice(0, m, min_index(M, m + step)), y.slice(0, m, min_index(M, m + step)));
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::kernels
