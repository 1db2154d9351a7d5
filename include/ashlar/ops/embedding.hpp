// embedding: rows of a table, one for each token.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/weights/panels.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace kernels {

template <class B>
struct EmbeddingKernel : EmbeddingKernel<typename B::fallback> {};
template <>
struct EmbeddingKernel<backend::None> {};

template <>
struct EmbeddingKernel<backend::ScalarCpu> {
  template <Element T>
  static void run(HostContext& ctx, VectorView<const std::int32_t> tokens,
                  const WeightMatrix& table, MatrixView<T> y) {
    using A = accumulator_t<T>;
    Scratch::Frame frame(ctx.scratch());
    float* rows = frame.get<float>(table.columns() * ctx.workers());
    parallel_for(ctx.executor(), tokens.extent(0), [&](index_t m, int worker) {
      float* row = rows + worker * table.columns();
      decode_row(table, tokens(m), row);
      for (index_t i = 0; i < table.columns(); ++i)
        y(m, i) = static_cast<T>(static_cast<A>(row[i]));
    });
  }
};

}  // namespace kernels

/// y[m] = table[tokens[m]].
///
/// Shapes   tokens [M], table [V, D], y [M, D]
/// Dtypes   table of any weight type
/// Throws   ShapeError; ValueError for a token outside 0 .. V - 1, before anything is written (on a
///          device, where tokens are not looked at, its row becomes NaN)
template <Backend B, Element T>
void embedding(Context<B>& ctx, VectorView<const std::int32_t> tokens, const WeightMatrix& table,
               MatrixView<T> y) {
  expect_shape("embedding", "y", y, {tokens.extent(0), table.columns()});
  if constexpr (B::space == MemorySpace::host)
    for (index_t m = 0; m < tokens.extent(0); ++m)
      if (tokens(m) < 0 || tokens(m) >= table.rows())
        fail<ValueError>("embedding: token ", m, " is ", tokens(m), ", expected 0 to ",
                         table.rows() - 1);
  kernels::EmbeddingKernel<B>::run(ctx, tokens, table, y);
}

}  // namespace ashlar::inline ASHLAR_ABI
