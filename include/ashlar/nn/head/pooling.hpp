// Pooling: one row for each sequence, from the rows of its tokens.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/nn/token_batch.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// Row b is the first token's, the CLS of BERT and of vision models: a view, nothing is copied.
/// Shapes   hidden [B T, D], the result [B, D]
template <class T>
MatrixView<T> first_rows(const TokenBatch& batch, MatrixView<T> hidden) {
  expect_shape("first_rows", "hidden", hidden, {batch.rows(), hidden.extent(1)});
  if (batch.tokens() == 0 && batch.batch() != 0)
    fail<ShapeError>("first_rows: sequences of 0 tokens");
  return {hidden.data(), {batch.batch(), hidden.extent(1)}, {batch.tokens() * hidden.stride(0), 1}};
}

/// Mean over the true tokens of each sequence; zeros for a sequence without any.
/// Source: Reimers and Gurevych 2019, Sentence-BERT.
/// Shapes   hidden [B T, D], y [B, D]
template <Backend B, Element T>
void mean_pool(Context<B>&, const TokenBatch& batch, MatrixView<const T> hidden, MatrixView<T> y) {
  const index_t D = hidden.extent(1);
  expect_shape("mean_pool", "hidden", hidden, {batch.rows(), D});
  expect_shape("mean_pool", "y", y, {batch.batch(), D});
  for (index_t b = 0; b < batch.batch(); ++b) {
    const index_t count = batch.lengths()(b, batch.tokens());
    for (index_t i = 0; i < D; ++i) {
      double sum = 0;
      for (index_t t = 0; t < count; ++t)
        sum += static_cast<double>(hidden(b * batch.tokens() + t, i));
      y(b, i) = static_cast<T>(
          static_cast<accumulator_t<T>>(count ? sum / static_cast<double>(count) : 0.0));
    }
  }
}

/// The largest of each element over the true tokens of each sequence; zeros for a sequence without
/// any. Source: Reimers and Gurevych 2019.
/// Shapes   hidden [B T, D], y [B, D]
template <Backend B, Element T>
void max_pool(Context<B>&, const TokenBatch& batch, MatrixView<const T> hidden, MatrixView<T> y) {
  const index_t D = hidden.extent(1);
  expect_shape("max_pool", "hidden", hidden, {batch.rows(), D});
  expect_shape("max_pool", "y", y, {batch.batch(), D});
  for (index_t b = 0; b < batch.batch(); ++b) {
    const index_t count = batch.lengths()(b, batch.tokens()), first = b * batch.tokens();
    for (index_t i = 0; i < D; ++i) {
      using A = accumulator_t<T>;
      A most = count ? static_cast<A>(hidden(first, i)) : A(0);
      for (index_t t = 1; t < count; ++t) {
        const A x = static_cast<A>(hidden(first + t, i));
        if (!(x <= most) && !std::isnan(most)) most = x;  // a NaN stays
      }
      y(b, i) = static_cast<T>(most);
    }
  }
}

/// Rows divided by their Euclidean length; a row of zeros stays one.
/// Shapes   x [M, D]
template <Backend B, Element T>
void unit_length(Context<B>&, MatrixView<T> x) {
  for (index_t m = 0; m < x.extent(0); ++m) {
    double sum = 0;
    for (index_t i = 0; i < x.extent(1); ++i)
      sum += static_cast<double>(x(m, i)) * static_cast<double>(x(m, i));
    const double scale = sum > 0 ? 1.0 / std::sqrt(sum) : 0.0;
    for (index_t i = 0; i < x.extent(1); ++i)
      x(m, i) = static_cast<T>(static_cast<accumulator_t<T>>(static_cast<double>(x(m, i)) * scale));
  }
}

}  // namespace ashlar::inline ASHLAR_ABI
