// TokenBatch: which tokens a call handles, and where they stand. Shared by all layers of the call.
#pragma once

#include <ashlar/core/view.hpp>
#include <ashlar/nn/position/rope_tables.hpp>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// B sequences of T tokens each, as B * T rows, with the position of every row. Made once, reset
/// for every call: after the largest call nothing allocates.
class TokenBatch {
 public:
  TokenBatch() = default;
  TokenBatch(index_t batch, index_t tokens, index_t first_position = 0) {
    reset(batch, tokens, first_position);
  }

  /// Positions first_position, first_position + 1, .. in every sequence.
  void reset(index_t batch, index_t tokens, index_t first_position = 0) {
    if (batch < 0 || tokens < 0)
      fail<ValueError>("TokenBatch: ", batch, " sequences of ", tokens, " tokens");
    batch_ = batch;
    tokens_ = tokens;
    positions_.resize(static_cast<std::size_t>(batch * tokens));
    for (index_t m = 0; m < batch * tokens; ++m)
      positions_[static_cast<std::size_t>(m)] = first_position + (tokens ? m % tokens : 0);
    tables_.start();
  }

  index_t batch() const { return batch_; }
  index_t tokens() const { return tokens_; }
  index_t rows() const { return batch_ * tokens_; }
  /// [B * T], for position policies. Where keys lie in a cache is the cache's affair.
  VectorView<index_t> positions() {
    tables_.start();  // they may change
    return {positions_.data(), {rows()}};
  }
  VectorView<const index_t> positions() const { return {positions_.data(), {rows()}}; }
  /// Rotary tables of this call, filled by the first layer that needs one.
  RopeTables& tables() const { return tables_; }

 private:
  index_t batch_ = 0, tokens_ = 0;
  std::vector<index_t> positions_;
  mutable RopeTables tables_;
};

/// [B * T, heads * width] as [B, T, heads, width].
template <class T>
TensorView<T, 4> split_batch(MatrixView<T> x, const TokenBatch& batch, index_t heads) {
  const index_t width = x.extent(1) / heads;
  return {x.data(),
          {batch.batch(), batch.tokens(), heads, width},
          {batch.tokens() * x.stride(0), x.stride(0), width, 1}};
}

}  // namespace ashlar::inline ASHLAR_ABI
