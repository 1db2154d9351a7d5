// LearnedPosition: a learned vector for every position, added to the embeddings.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/embedding.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Positions of a batch as rows of a table of `count`, the first of which is position -offset's.
inline void position_tokens(HostContext&, const TokenBatch& batch, index_t offset, index_t count,
                            VectorView<std::int32_t> rows) {
  for (index_t m = 0; m < rows.extent(0); ++m) {
    const index_t row = batch.positions()(m) + offset;
    if (row < 0 || row >= count)
      fail<ValueError>("LearnedPosition: position ", batch.positions()(m), ", expected 0 to ",
                       count - offset - 1);
    rows(m) = static_cast<std::int32_t>(row);
  }
}

/// x[m] += table[position[m] + offset]. Source: Gehring et al. 2017; GPT-2; OPT has an offset of 2.
/// Shapes   x [M, D], table [positions, D]
/// Throws   ValueError for a position outside the table
struct LearnedPosition {
  struct Config {
    index_t positions = 0;  // rows of the table
    index_t offset = 0;
  };
  struct Weights {
    WeightMatrix table;
  };
  static void visit(Weights& w, const Config& c, index_t width, auto&& f) {
    f("table", w.table, {c.positions, width});
  }
  template <Backend B, Element T>
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const BatchOf<B>& batch,
                    MatrixView<T> x) {
    Scratch::Frame frame(ctx.scratch());
    const index_t M = batch.rows();
    const VectorView<std::int32_t> rows(frame.get<std::int32_t>(M), {M});
    position_tokens(ctx, batch, c.offset, c.positions, rows);
    const auto y = frame.tensor<T, 2>({M, x.extent(1)});
    embedding(ctx, VectorView<const std::int32_t>(rows), w.table, y);
    residual_add(ctx, MatrixView<const T>(y), {}, x);
  }
};
static_assert(InputPositionPolicy<LearnedPosition>);

}  // namespace ashlar::inline ASHLAR_ABI
