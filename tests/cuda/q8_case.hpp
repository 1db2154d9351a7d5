// The keys and values of an attention case in a cache of Q8_0: codes and scales at random, with
// poison wherever nothing may be read, and what they decode to for the oracle.
#pragma once

#include <ashlar/cuda/attention_problem.hpp>

#include "attention_case.hpp"

namespace cuda_test {

using ashlar::Q8_0;

/// M is what a kernel rounds decoded elements to: T on tensor cores, float without them.
template <class T, class M = T>
class Q8Case : public AttentionCase<T> {
 public:
  using Base = AttentionCase<T>;
  using Base::s;

  Q8Case(oracle::AttentionShape shape, oracle::AttentionOptions expected, std::uint64_t seed = 1)
      : Base(shape, std::move(expected), seed), random_(seed + 77) {
    k_rows_ = draw(s.H, this->k);
    v_rows_ = draw(s.Hv, this->v);
  }

  /// Rows with gaps of whole pieces between them.
  template <class Mask, class Score>
  auto rows(Mask mask, Score score, index_t gap = 16) {
    k_ = std::make_unique<Memory>(s.B, s.S, s.K, s.H, gap);
    v_ = std::make_unique<Memory>(s.B, s.S, s.K, s.Hv, 2 * gap);
    for (index_t b = 0; b < s.B; ++b)
      for (index_t j = 0; j < this->keys(b); ++j)
        for (index_t n = 0; n < s.K; ++n) {
          place(*k_, k_rows_, s.H, b, j, n, b, j);
          place(*v_, v_rows_, s.Hv, b, j, n, b, j);
        }
    return problem(this->padded(mask, score),
                   ashlar::cuda::KeyRows<Q8_0>{k_->tensor(), v_->tensor()});
  }
  /// Pages of 2^log2_page rows in a random order; further pages are poison.
  template <class Mask, class Score>
  auto pages(Mask mask, Score score, int log2_page) {
    const auto plain = this->paged(mask, score, log2_page);
    const index_t page = index_t{1} << log2_page, pages = plain.kv.k.extent(0);
    k_ = std::make_unique<Memory>(pages, page, s.K, s.H, 16);
    v_ = std::make_unique<Memory>(pages, page, s.K, s.Hv, 16);
    for (index_t b = 0; b < s.B; ++b)
      for (index_t j = 0; j < this->keys(b); ++j)
        for (index_t n = 0; n < s.K; ++n) {
          const index_t at = plain.kv.table(b, j / page);
          place(*k_, k_rows_, s.H, at, j % page, n, b, j);
          place(*v_, v_rows_, s.Hv, at, j % page, n, b, j);
        }
    return problem(plain, ashlar::cuda::KeyPages<Q8_0>{k_->tensor(), v_->tensor(), plain.kv.table,
                                                       plain.kv.lengths, log2_page});
  }

 private:
  struct Drawn {
    std::vector<std::int8_t> codes;
    std::vector<ashlar::half> scales;
  };
  struct Memory {
    Memory(index_t i, index_t j, index_t heads, index_t width, index_t gap)
        : codes({i, j, heads, width}, gap, gap),
          scales({i, j, heads, Q8_0::scales(width)}, 2 * gap) {}
    ashlar::cuda::Q8Tensor tensor() {
      return {
          ashlar::TensorView<std::int8_t, 4>(codes.data(), codes.extents(), codes.strides()),
          ashlar::TensorView<ashlar::half, 4>(scales.data(), scales.extents(), scales.strides())};
    }
    support::PoisonedTensor<std::int8_t, 4> codes;
    support::PoisonedTensor<ashlar::half, 4> scales;
  };

  /// Codes of every value, scales from 0 to a few hundredths; `decoded` becomes their values.
  Drawn draw(index_t width, oracle::Vec& decoded) {
    const index_t count = s.B * s.S * s.K, per_row = Q8_0::scales(width);
    Drawn x{std::vector<std::int8_t>(to_size(count * width)),
            std::vector<ashlar::half>(to_size(count * per_row))};
    for (auto& code : x.codes) code = static_cast<std::int8_t>(random_.integer(-128, 127));
    for (index_t r = 0; r < count; ++r)
      for (index_t n = 0; n < per_row; ++n)
        x.scales[to_size(r * per_row + n)] = ashlar::half(
            32 * n < width && !random_.chance(0.05) ? static_cast<float>(random_.uniform(0, 0.03))
                                                    : 0.f);
    for (index_t i = 0; i < count * width; ++i) {
      const auto scale = x.scales[to_size(i / width * per_row + i % width / 32)];
      const double value = static_cast<double>(float(scale)) * x.codes[to_size(i)];
      decoded[to_size(i)] = static_cast<double>(static_cast<float>(M(static_cast<float>(value))));
    }
    return x;
  }
  void place(Memory& m, const Drawn& x, index_t width, index_t i, index_t j, index_t n, index_t b,
             index_t key) const {
    const index_t row = (b * s.S + key) * s.K + n, per_row = Q8_0::scales(width);
    const auto tensor = m.tensor();
    for (index_t h = 0; h < width; ++h)
      const_cast<std::int8_t&>(tensor.codes(i, j, n, h)) = x.codes[to_size(row * width + h)];
    for (index_t h = 0; h < per_row; ++h)
      const_cast<ashlar::half&>(tensor.scales(i, j, n, h)) = x.scales[to_size(row * per_row + h)];
  }
  template <class Plain, class Source>
  static auto problem(const Plain& p, const Source& source) {
    ashlar::cuda::AttentionProblem<T, Source, typename Plain::Mask, typename Plain::Score> x{};
    x.q = p.q;
    x.kv = source;
    x.out = p.out;
    x.options = p.options;
    x.queries = p.queries;
    x.most_queries = p.most_queries;
    x.scale = p.scale;
    return x;
  }

  support::Random random_;
  Drawn k_rows_, v_rows_;
  std::unique_ptr<Memory> k_, v_;
};

}  // namespace cuda_test
