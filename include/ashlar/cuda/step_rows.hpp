// What a call on a device does first: which positions its tokens have, and their rotary angles.
#pragma once

#include <ashlar/core/view.hpp>
#include <ashlar/cuda/grid.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// starts, ends [B]: the tokens that each sequence holds, before the call and after; positions [B
/// T].
struct BeginStepArguments {
  index_t* starts = nullptr;
  index_t* ends = nullptr;
  VectorView<index_t> positions;
  index_t batch = 0, tokens = 0;
};

/// starts = ends; ends += T; positions[b T + t] = starts[b] + t. A block a sequence.
struct BeginStep {
  using Arguments = BeginStepArguments;
  static constexpr int needs_architecture = 0;
  static constexpr int threads = 128, blocks_per_multiprocessor = 8;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) { return {a.batch}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t b = P::block_x(), start = a.ends[b];
    P::sync_block();  // all have read it
    if (P::thread() == 0) {
      a.starts[b] = start;
      a.ends[b] = start + a.tokens;
    }
    for (index_t t = P::thread(); t < a.tokens; t += threads)
      a.positions.data()[b * a.tokens + t] = start + t;
  }
};

/// table [positions, 2, r / 2] of rope_table for all positions there are, rows [M, 2, r / 2].
struct RopeRowsArguments {
  VectorView<const index_t> positions;
  TensorView<const float, 3> table;
  TensorView<float, 3> rows;
};

/// rows[m] = table[positions[m]], zeros for a position beyond the table. A block a row.
struct RopeRows {
  using Arguments = RopeRowsArguments;
  static constexpr int needs_architecture = 0;
  static constexpr int threads = 64, blocks_per_multiprocessor = 16;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) { return {a.positions.extent(0)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t m = P::block_x(), position = a.positions.data()[m], width = a.rows.stride(0);
    const bool exists = position < a.table.extent(0);
    for (index_t i = P::thread(); i < width; i += threads)
      a.rows.data()[m * width + i] = exists ? a.table.data()[position * width + i] : 0.f;
  }
};

/// rows[m] = positions[m] + offset as a token of a table of `count`, -1 where it has no row.
struct PositionTokensArguments {
  VectorView<const index_t> positions;
  VectorView<std::int32_t> tokens;
  index_t offset = 0, count = 0;
};
struct PositionTokens {
  using Arguments = PositionTokensArguments;
  static constexpr int needs_architecture = 0;
  static constexpr int threads = 128, blocks_per_multiprocessor = 8;
  static std::size_t shared_bytes(const Arguments&) { return 0; }
  static Grid grid(const Arguments& a) { return {ceil_div(a.positions.extent(0), threads)}; }

  template <class P>
  static ASHLAR_DEVICE void run(const Arguments& a) {
    const index_t m = P::block_x() * index_t{threads} + P::thread();
    if (m >= a.positions.extent(0)) return;
    const index_t row = a.positions.data()[m] + a.offset;
    a.tokens.data()[m] = row >= 0 && row < a.count ? static_cast<std::int32_t>(row) : -1;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
