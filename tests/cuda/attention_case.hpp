// An attention case in the memory of an emulated device: where nothing may be read there is NaN, or
// no memory; results are held against the oracle in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ashlar/cuda/attention_forward.hpp>
#include <memory>
#include <span>
#include <vector>

#include "emulation/launch.hpp"
#include "oracle/attention.hpp"
#include "support/compare.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"

namespace cuda_test {

using ashlar::index_t;
using oracle::to_size;

/// Error of attention in T, relative to sum p |v|: weights and results are rounded to T.
template <class T>
inline constexpr double rounding = std::is_same_v<T, ashlar::bfloat16> ? 0x1p-7
                                   : std::is_same_v<T, ashlar::half>   ? 0x1p-10
                                                                       : 0x1p-22;

/// What a kernel gave, row-major, and the oracle's answer.
struct Answer {
  std::vector<float> out, lse;
};

template <class T>
class AttentionCase {
 public:
  using Shape = oracle::AttentionShape;

  /// Inputs that T holds exactly. `expected` are the oracle's options; what they say of lengths is
  /// said to the kernel too, masks and scores are given apart.
  AttentionCase(Shape shape, oracle::AttentionOptions expected, std::uint64_t seed = 1)
      : s(shape), options(std::move(expected)), random_(seed) {
    q = values(s.B * s.T * s.N * s.H);
    k = values(s.B * s.S * s.K * s.H);
    v = values(s.B * s.S * s.K * s.Hv);
    if (!options.sinks.empty()) sinks_.assign(options.sinks.begin(), options.sinks.end());
  }

  index_t keys(index_t b) const {
    return options.kv_lengths.empty() ? s.S : options.kv_lengths[to_size(b)];
  }
  index_t queries(index_t b) const {
    return options.q_lengths.empty() ? s.T : options.q_lengths[to_size(b)];
  }

  /// Places q, k and v with `gap` elements of NaN between rows; slots that hold no row are NaN.
  template <class Mask, class Score>
  auto padded(Mask mask, Score score, index_t gap = 8) {
    q_ = std::make_unique<Tensor>(Extents{s.B, s.T, s.N, s.H}, gap);
    k_ = std::make_unique<Tensor>(Extents{s.B, s.S, s.K, s.H}, gap, gap);
    v_ = std::make_unique<Tensor>(Extents{s.B, s.S, s.K, s.Hv}, gap, 3 * gap);
    out_ = std::make_unique<Tensor>(Extents{s.B, s.T, s.N, s.Hv}, gap);
    lse_ = std::make_unique<Lse>(Extents3{s.B, s.N, s.T}, 0);
    fill(*q_, q, s.N, s.H, s.T, [&](index_t b) { return queries(b); });
    fill(*k_, k, s.K, s.H, s.S, [&](index_t b) { return keys(b); });
    fill(*v_, v, s.K, s.Hv, s.S, [&](index_t b) { return keys(b); });
    return problem(ashlar::cuda::KeyRows<T>{view(*k_), view(*v_)}, mask, score);
  }

  /// Places k and v on pages of 2^log2_page rows in a random order; further pages are NaN.
  template <class Mask, class Score>
  auto paged(Mask mask, Score score, int log2_page) {
    padded(mask, score);
    const index_t page = index_t{1} << log2_page, most = ashlar::ceil_div(s.S, page);
    const index_t pages = s.B * most + 3;
    std::vector<std::int32_t> order(to_size(pages));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[to_size(random_.integer(0, static_cast<index_t>(i)))]);
    k_ = std::make_unique<Tensor>(Extents{pages, page, s.K, s.H}, 8);
    v_ = std::make_unique<Tensor>(Extents{pages, page, s.K, s.Hv}, 8);
    table_.assign(to_size(s.B * most), -1);  // a page that nobody may look up
    for (index_t b = 0; b < s.B; ++b)
      for (index_t j = 0; j < keys(b); ++j) {
        std::int32_t& at = table_[to_size(b * most + j / page)];
        at = order[to_size(b * most + j / page)];
        for (index_t n = 0; n < s.K; ++n) {
          for (index_t h = 0; h < s.H; ++h)
            view (*k_)(at, j % page, n, h) =
                T(static_cast<float>(k[to_size(((b * s.S + j) * s.K + n) * s.H + h)]));
          for (index_t h = 0; h < s.Hv; ++h)
            view (*v_)(at, j % page, n, h) =
                T(static_cast<float>(v[to_size(((b * s.S + j) * s.K + n) * s.Hv + h)]));
        }
      }
    return problem(
        ashlar::cuda::KeyPages<T>{view(*k_),
                                  view(*v_),
                                  {table_.data(), {s.B, most}},
                                  options.kv_lengths.empty() ? nullptr : options.kv_lengths.data(),
                                  log2_page},
        mask, score);
  }

  /// Places the sequences' rows behind each other; lengths are those of the options.
  template <class Mask, class Score>
  auto packed(Mask mask, Score score) {
    q_starts_ = {0};
    k_starts_ = {0};
    for (index_t b = 0; b < s.B; ++b) {
      q_starts_.push_back(q_starts_.back() + static_cast<std::int32_t>(queries(b)));
      k_starts_.push_back(k_starts_.back() + static_cast<std::int32_t>(keys(b)));
    }
    const index_t rows = q_starts_.back(), key_rows = k_starts_.back();
    q_ = std::make_unique<Tensor>(Extents{1, rows, s.N, s.H}, 8);
    k_ = std::make_unique<Tensor>(Extents{1, key_rows, s.K, s.H}, 8);
    v_ = std::make_unique<Tensor>(Extents{1, key_rows, s.K, s.Hv}, 16);
    out_ = std::make_unique<Tensor>(Extents{1, rows, s.N, s.Hv}, 8);
    lse_ = std::make_unique<Lse>(Extents3{1, s.N, rows}, 0);
    const auto pack = [&](Tensor& x, const oracle::Vec& from, index_t heads, index_t width,
                          index_t room, const std::vector<std::int32_t>& starts) {
      for (index_t b = 0; b < s.B; ++b)
        for (index_t t = 0; t < starts[to_size(b + 1)] - starts[to_size(b)]; ++t)
          for (index_t i = 0; i < heads * width; ++i)
            view(x)(0, starts[to_size(b)] + t, i / width, i % width) =
                T(static_cast<float>(from[to_size((b * room + t) * heads * width + i)]));
    };
    pack(*q_, q, s.N, s.H, s.T, q_starts_);
    pack(*k_, k, s.K, s.H, s.S, k_starts_);
    pack(*v_, v, s.K, s.Hv, s.S, k_starts_);
    auto p = problem(ashlar::cuda::KeyRows<T>{as_batch(*k_), as_batch(*v_), {k_starts_.data()}},
                     mask, score);
    p.q = as_batch(*q_);
    p.out = as_batch(*out_);
    p.queries = {q_starts_.data()};
    p.options.q_lengths = {};
    p.options.kv_lengths = {};
    ashlar::index_t extents[3] = {s.B, s.N, rows}, strides[3] = {0, rows, 1};
    p.options.lse.assign(lse_->data(), extents, strides);
    return p;
  }

  /// Runs a kernel and compares; returns what the emulated hardware did.
  template <class Kernel>
  emulation::Counters expect_oracle(const typename Kernel::Arguments& arguments,
                                    emulation::Schedule schedule = {}) {
    emulation::Counters counters;
    try {
      counters = emulation::launch<Kernel>(arguments, schedule);
    } catch (const emulation::Fault& fault) {
      ADD_FAILURE() << fault.what();
      return counters;
    }
    compare();
    return counters;
  }
  /// The results of the last run against the oracle.
  void compare() {
    const Answer got = answer();
    oracle::AttentionResult want = oracle::attention(q, k, v, s, options);
    for (index_t i = 0; i < static_cast<index_t>(want.lse.size()); ++i)
      if (i % s.T >= queries(i / (s.N * s.T))) want.lse[to_size(i)] = -HUGE_VAL;  // no such query
    std::vector<double> out_budget(want.out.size()), lse_budget(want.lse.size());
    for (index_t i = 0; i < static_cast<index_t>(want.lse.size()); ++i) {
      const index_t b = i / (s.N * s.T), n = i / s.T % s.N, t = i % s.T;
      const double score_error = (want.score_sum[to_size(i)] + 8) * score_rounding;
      lse_budget[to_size(i)] = score_error;
      for (index_t d = 0; d < s.Hv; ++d) {
        const std::size_t at = to_size(((b * s.T + t) * s.N + n) * s.Hv + d);
        out_budget[at] = want.magnitude[at] * (value_rounding + score_error) + 1e-30;
      }
    }
    EXPECT_TRUE(support::all_within(got.out, want.out, out_budget));
    EXPECT_TRUE(support::all_within(got.lse, want.lse, lse_budget)) << " (lse)";
    EXPECT_TRUE(out_->gaps_intact()) << "written outside of out";
    largest_error = 0;
    double error = 0, size = 0;
    for (std::size_t i = 0; i < want.out.size(); ++i) {
      error += (got.out[i] - want.out[i]) * (got.out[i] - want.out[i]);
      size += want.out[i] * want.out[i];
    }
    largest_error = size > 0 ? std::sqrt(error / size) : 0;
  }
  Answer answer() const {
    Answer a{std::vector<float>(to_size(s.B * s.T * s.N * s.Hv), 0.f),
             std::vector<float>(to_size(s.B * s.N * s.T), -HUGE_VALF)};
    if (q_starts_.empty())
      return {out_->template values<std::vector<float>>(),
              lse_->template values<std::vector<float>>()};
    for (index_t b = 0; b < s.B; ++b)
      for (index_t t = 0; t < queries(b); ++t)
        for (index_t n = 0; n < s.N; ++n) {
          const index_t row = q_starts_[to_size(b)] + t;
          for (index_t d = 0; d < s.Hv; ++d)
            a.out[to_size(((b * s.T + t) * s.N + n) * s.Hv + d)] =
                static_cast<float>(view(*out_)(0, row, n, d));
          a.lse[to_size((b * s.N + n) * s.T + t)] = lse_->data()[n * q_starts_.back() + row];
        }
    return a;
  }

  Shape s;
  oracle::AttentionOptions options;
  oracle::Vec q, k, v;
  // Relative errors that a kernel may have: of a score's products, of weights, values and results.
  double score_rounding = 0x1p-20, value_rounding = rounding<T>;
  double largest_error = 0;  // of the last comparison: |got - expected| / |expected|

 private:
  using Tensor = support::PoisonedTensor<T, 4>;
  using Lse = support::PoisonedTensor<float, 3>;
  using Extents = std::ptrdiff_t[4];
  using Extents3 = std::ptrdiff_t[3];

  oracle::Vec values(index_t n) {
    oracle::Vec x(to_size(n));
    for (double& y : x)
      y = static_cast<double>(static_cast<float>(T(static_cast<float>(random_.normal()))));
    return x;
  }
  static ashlar::TensorView<T, 4> view(Tensor& x) { return {x.data(), x.extents(), x.strides()}; }
  /// B sequences in one run of rows.
  ashlar::TensorView<T, 4> as_batch(Tensor& x) const {
    ashlar::TensorView<T, 4> packed;
    const ashlar::index_t extents[4] = {s.B, x.extents()[1], x.extents()[2], x.extents()[3]};
    const ashlar::index_t strides[4] = {0, x.strides()[1], x.strides()[2], 1};
    packed.assign(x.data(), extents, strides);
    return packed;
  }
  template <class Length>
  void fill(Tensor& x, const oracle::Vec& from, index_t heads, index_t width, index_t room,
            Length length) {
    for (index_t b = 0; b < s.B; ++b)
      for (index_t t = 0; t < length(b); ++t)
        for (index_t i = 0; i < heads * width; ++i)
          view(x)(b, t, i / width, i % width) =
              T(static_cast<float>(from[to_size((b * room + t) * heads * width + i)]));
  }
  static ashlar::PerSequence per_sequence(const std::vector<index_t>& x) {
    if (x.empty()) return {};
    return ashlar::VectorView<const index_t>(x.data(), {static_cast<index_t>(x.size())});
  }
  template <class Source, class Mask, class Score>
  auto problem(Source source, Mask mask, Score score) {
    ashlar::cuda::AttentionProblem<T, Source, Mask, Score> p{};
    p.q = view(*q_);
    p.kv = source;
    p.out = view(*out_);
    p.most_queries = s.T;
    p.scale = static_cast<float>(options.scale.value_or(1 / std::sqrt(static_cast<double>(s.H))));
    p.options.mask = mask;
    p.options.score = score;
    p.options.q_offset = per_sequence(options.q_offset);
    p.options.q_lengths = per_sequence(options.q_lengths);
    p.options.kv_lengths = per_sequence(options.kv_lengths);
    if (!sinks_.empty()) p.options.sinks = {sinks_.data(), {s.N}};
    p.options.lse = {lse_->data(), lse_->extents(), lse_->strides()};
    return p;
  }

  support::Random random_;
  std::unique_ptr<Tensor> q_, k_, v_, out_;
  std::unique_ptr<Lse> lse_;
  std::vector<float> sinks_;
  std::vector<std::int32_t> q_starts_, k_starts_, table_;
};

}  // namespace cuda_test
