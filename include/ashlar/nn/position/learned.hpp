// LearnedPosition: a learned vector for every position, added to the embeddings.
#pragma once

#include <ashlar/nn/policy.hpp>
#include <ashlar/ops/embedding.hpp>
#include <ashlar/ops/residual_add.hpp>

namespace ashlar::inline ASHLAR_ABI {

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
  static void apply(Context<B>& ctx, const Config& c, const Weights& w, const TokenBatch& batch,
                    MatrixView<T> x) {
    Scratch::Frame frame(ctx.scratch());
    const index_t M = batch.rows();
    std::int32_t* rows = frame.get<std::int32_t>(M);
    for (index_t m = 0; m < M; ++m) {
      const index_t row = batch.positions()(m) + c.offset;
      if (row < 0 || row >= c.positions)
        fail<ValueError>("LearnedPosition: position ", batch.positions()(m), ", expected 0 to ",
                         c.positions - c.offset - 1);
      rows[m] = static_cast<std::int32_t>(row);
    }
    const auto y = frame.tensor<T, 2>({M, x.extent(1)});
    embedding(ctx, VectorView<const std::int32_t>(rows, {M}), w.table, y);
    residual_add(ctx, MatrixView<const T>(y), {}, x);
  }
};
static_assert(InputPositionPolicy<LearnedPosition>);

}  // namespace ashlar::inline ASHLAR_ABI
