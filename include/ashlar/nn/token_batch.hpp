// TokenBatch: which tokens a call handles, and where they stand. Shared by all layers of the call.
#pragma once

#include <ashlar/attention/options.hpp>
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
    lengths_.clear();
    tables_.start();
  }
  /// True numbers of tokens, one a sequence: rows past them are padding. For calls without a cache.
  void set_lengths(VectorView<const index_t> lengths) {
    expect_shape("TokenBatch", "lengths", lengths, {batch_});
    for (index_t b = 0; b < batch_; ++b)
      if (lengths(b) < 0 || lengths(b) > tokens_)
        fail<ValueError>("TokenBatch: length of sequence ", b, " is ", lengths(b),
                         ", expected 0 to ", tokens_);
    lengths_.resize(static_cast<std::size_t>(batch_));
    for (index_t b = 0; b < batch_; ++b) lengths_[static_cast<std::size_t>(b)] = lengths(b);
  }

  /// Tokens that each sequence was made for, of which these may be a few: rotary rules that depend
  /// on the length of a sequence go by it (RopeRule::length_of). Stays over reset().
  void set_capacity(index_t capacity) { tables_.set_capacity(capacity); }

  index_t batch() const { return batch_; }
  index_t tokens() const { return tokens_; }
  index_t rows() const { return batch_ * tokens_; }
  /// [B * T], for position policies. Where keys lie in a cache is the cache's affair.
  VectorView<index_t> positions() {
    tables_.start();  // they may change
    return {positions_.data(), {rows()}};
  }
  VectorView<const index_t> positions() const { return {positions_.data(), {rows()}}; }
  /// The lengths that were set; else all tokens count.
  PerSequence lengths() const {
    if (lengths_.empty()) return {};
    return VectorView<const index_t>(lengths_.data(), {batch_});
  }
  /// Rotary tables of this call, filled by the first layer that needs one.
  RopeTables& tables() const { return tables_; }

 private:
  index_t batch_ = 0, tokens_ = 0;
  std::vector<index_t> positions_, lengths_;
  mutable RopeTables tables_;
};

/// What a batch and a layer's state are on a backend, for activations of T: themselves, unless the
/// backend of a device says otherwise.
template <class B>
struct TokenBatchOn {
  using type = TokenBatch;
};
template <class B>
using BatchOf = typename TokenBatchOn<B>::type;
template <class State, class B, class T>
struct StateOn {
  using type = State;
};
template <class State, class B, class T>
using StateOf = typename StateOn<State, B, T>::type;

/// [B * T, heads * width] as [B, T, heads, width].
template <class T, class Batch>
TensorView<T, 4> split_batch(MatrixView<T> x, const Batch& batch, index_t heads) {
  const index_t width = x.extent(1) / heads;
  return {x.data(),
          {batch.batch(), batch.tokens(), heads, width},
          {batch.tokens() * x.stride(0), x.stride(0), width, 1}};
}

}  // namespace ashlar::inline ASHLAR_ABI
