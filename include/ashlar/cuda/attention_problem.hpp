// What every attention kernel on the device is given.
#pragma once

#include <ashlar/attention/online_softmax.hpp>
#include <ashlar/attention/options.hpp>
#include <ashlar/cuda/grid.hpp>
#include <ashlar/cuda/key_source.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// q [B, T, N, H] and out [B, T, N, Hv], or packed with a batch stride of 0. Everything that is
/// pointed to, the options' lengths, sinks and lse included, lies on the device.
template <class T_, class Source_, class Mask_, class Score_>
struct AttentionProblem {
  using T = T_;
  using Source = Source_;
  using Mask = Mask_;
  using Score = Score_;
  static constexpr bool has_score = !std::is_same_v<Score, NoScore>;

  TensorView<const T, 4> q;
  Source kv;
  TensorView<T, 4> out;
  AttentionOptions<Mask, Score> options;
  RowRange queries{};
  index_t most_queries = 0;  // of a sequence; T unless packed
  float scale = 1.f;         // of q . k, never 0

  ASHLAR_HD index_t heads() const { return q.extent(2); }
  ASHLAR_HD index_t key_head(index_t head) const { return head / (q.extent(2) / kv.heads()); }
  ASHLAR_HD ashlar::detail::SequenceExtent extent(index_t b) const {
    return ashlar::detail::sequence_extent(options, kv, b, queries.count(b, most_queries));
  }
  /// Rows of out and lse that are sequence b's. In a padded batch those past its length become 0.
  ASHLAR_HD index_t stored_rows(index_t b) const { return queries.count(b, most_queries); }
  ASHLAR_HD const T* query(index_t b, index_t head, index_t t) const {
    return q.data() + b * q.stride(0) + (queries.first(b) + t) * q.stride(1) + head * q.stride(2);
  }
  ASHLAR_HD T* output(index_t b, index_t head, index_t t) const {
    return out.data() + b * out.stride(0) + (queries.first(b) + t) * out.stride(1) +
           head * out.stride(2);
  }
  ASHLAR_HD void store_lse(index_t b, index_t head, index_t t, float lse) const {
    const TensorView<float, 3>& x = options.lse;
    if (x.data() != nullptr)
      x.data()[b * x.stride(0) + head * x.stride(1) + queries.first(b) + t] = lse;
  }

  ASHLAR_HD bool sees(index_t b, index_t head, index_t position, index_t key) const {
    return options.mask.keep(b, head, position, key);
  }
  /// The score of a visible pair in log2 units, from s = scale (q . k). Only with a score functor.
  ASHLAR_HD float score(float s, index_t b, index_t head, index_t position, index_t key) const {
    return log2_score(ashlar::detail::apply_score(options.score, s, b, head, position, key));
  }
  /// What turns a kernel's scores into log2 units.
  ASHLAR_HD float score_factor() const {
    if constexpr (has_score)
      return 1.f;
    else
      return std::fabs(scale) * 1.4426950408889634f;
  }
};

/// Natural log of the sum of exponentials of a row; -inf for a row that sees nothing (V3).
template <class P>
ASHLAR_DEVICE float natural_lse(const SoftmaxState<float>& row) {
  if (row.l == 0.f) return -HUGE_VALF;
  return (row.m + P::log2(row.l)) * 0.6931471805599453f;
}

/// Lets head's sink, where there are sinks, join a row. Returns the scale of its output.
template <class Problem>
ASHLAR_DEVICE float join_sink(const Problem& problem, index_t head, SoftmaxState<float>& row) {
  const float* sinks = problem.options.sinks.data();
  return sinks ? add_sink(row, sinks[head]) : 1.f;
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
