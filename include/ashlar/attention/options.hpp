// Everything that attention takes beside q, k, v and out.
#pragma once

#include <ashlar/attention/mask/none.hpp>
#include <ashlar/attention/score/none.hpp>
#include <ashlar/core/view.hpp>
#include <cmath>

namespace ashlar::inline ASHLAR_ABI {

/// One number for all sequences of a batch, one each, or none at all.
class PerSequence {
 public:
  constexpr PerSequence() = default;
  constexpr PerSequence(index_t value)
      : value_(value), set_(true) {}                       // NOLINT: a number is one for all
  constexpr PerSequence(VectorView<const index_t> values)  // NOLINT
      : values_(values.data()), size_(values.extent(0)), set_(values.data() != nullptr) {}

  ASHLAR_HD constexpr bool given() const { return set_; }
  ASHLAR_HD constexpr index_t operator()(index_t b, index_t otherwise) const {
    return !set_ ? otherwise : values_ ? values_[b] : value_;
  }
  /// Number of values, -1 where one number serves all.
  constexpr index_t size() const { return values_ ? size_ : -1; }

 private:
  const index_t* values_ = nullptr;
  index_t size_ = 0, value_ = 0;
  bool set_ = false;
};

/// Options of the three attention functions. The order is scale, score, mask by selection, sink,
/// softmax (V5).
template <MaskPolicy Mask = NoMask, ScorePolicy Score = NoScore>
struct AttentionOptions {
  Mask mask{};
  Score score{};
  float scale = 0.f;                // of q . k; 0 means 1 / sqrt(H)
  PerSequence q_offset{};           // position of the first query; none: keys - queries (V1)
  PerSequence q_lengths{};          // true number of queries; rows past it are 0, their lse -inf
  PerSequence kv_lengths{};         // true number of keys; none: all of them
  VectorView<const float> sinks{};  // [N] a logit without a value that joins the denominator
  TensorView<float, 3> lse{};       // [B, N, T] output: natural log-sum-exp, sink included (V6)
};

namespace detail {
/// What a kernel needs of the options for sequence b.
struct SequenceExtent {
  index_t queries, keys, q_offset;
};
template <class Options, class Source>
ASHLAR_HD SequenceExtent sequence_extent(const Options& o, const Source& kv, index_t b,
                                         index_t queries) {
  const index_t t = o.q_lengths(b, queries), s = o.kv_lengths(b, kv.length(b));
  return {t, s, o.q_offset(b, s - t)};
}
template <class Options>
float softmax_scale(const Options& o, index_t width) {
  return o.scale != 0.f ? o.scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(width)));
}
}  // namespace detail

}  // namespace ashlar::inline ASHLAR_ABI
