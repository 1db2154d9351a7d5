// An attention problem with strided inputs whose gaps hold NaN, and every way to compute it.
#pragma once

#include <algorithm>
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/none.hpp>
#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/sequence.hpp>
#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/ops/attention.hpp>
#include <ashlar/ops/attention_decode.hpp>
#include <ashlar/ops/attention_naive.hpp>
#include <ashlar/simd.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "support/compare.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"

namespace attention_test {

using ashlar::index_t;
using Floats = std::vector<float>;

/// Runs every worker on a thread of its own.
inline ashlar::Executor threads(int workers) {
  return {[](void*, int n, ashlar::Executor::Task task, void* argument) {
            std::vector<std::thread> pool;
            for (int w = 1; w < n; ++w) pool.emplace_back(task, argument, w);
            task(argument, 0);
            for (std::thread& t : pool) t.join();
          },
          nullptr, workers};
}

/// A cache in tiles; slots that hold no key are NaN.
template <class E>
struct Cache {
  Cache(index_t B, index_t S, index_t K, index_t H, index_t Hv)
      : lengths(static_cast<std::size_t>(B), S),
        k(B * K * ashlar::ceil_div(S, 64) * ashlar::KvTiles<E>::k_tile_size(H)),
        v(B * K * ashlar::ceil_div(S, 64) * ashlar::KvTiles<E>::v_tile_size(Hv)) {
    tiles.k_data = k.data();
    tiles.v_data = v.data();
    tiles.lengths = lengths.data();
    tiles.batches = B;
    tiles.tiles = ashlar::ceil_div(S, 64);
    tiles.kv_heads = K;
    tiles.k_width = H;
    tiles.v_width = Hv;
    tiles.longest = S;
  }
  std::vector<index_t> lengths;
  support::PoisonedBuffer<E> k, v;
  ashlar::KvTiles<E> tiles;
};

struct Shape {
  index_t B = 1, T = 1, S = 1, N = 1, K = 1, H = 1, Hv = 1;
};

struct Result {
  Floats out, lse;
};
inline ::testing::AssertionResult same(const Result& got, const Result& expected) {
  const auto out = support::same_bits(got.out, expected.out);
  return out ? support::same_bits(got.lse, expected.lse) << " (lse)" : out;
}

/// q, k, v and the options that are not part of a type.
struct Problem {
  Problem(Shape shape, index_t gap, support::Random& random)
      : s(shape),
        q({s.B, s.T, s.N, s.H}, gap),
        k({s.B, s.S, s.K, s.H}, gap, gap),
        v({s.B, s.S, s.K, s.Hv}, gap, 3 * gap) {
    // Multiples of 1/32 up to 4 are exact in every stored type.
    const auto fill = [&](auto& tensor, index_t n) {
      Floats x(static_cast<std::size_t>(n));
      for (float& y : x) y = static_cast<float>(random.integer(-96, 96)) / 32.f;
      tensor.template assign<float>(x);
    };
    fill(q, s.B * s.T * s.N * s.H);
    fill(k, s.B * s.S * s.K * s.H);
    fill(v, s.B * s.S * s.K * s.Hv);
  }

  using Tensor = support::PoisonedTensor<float, 4>;
  static ashlar::TensorView<float, 4> view(Tensor& t) {
    return {t.data(), t.extents(), t.strides()};
  }
  ashlar::TensorView<float, 4> qs() { return view(q); }
  ashlar::TensorView<float, 4> ks() { return view(k); }
  ashlar::TensorView<float, 4> vs() { return view(v); }

  template <class E>
  std::unique_ptr<Cache<E>> cache() {
    auto c = std::make_unique<Cache<E>>(s.B, s.S, s.K, s.H, s.Hv);
    for (index_t b = 0; b < s.B; ++b)
      for (index_t j = 0; j < s.S; ++j)
        for (index_t n = 0; n < s.K; ++n) {
          for (index_t h = 0; h < s.H; ++h) c->tiles.key(b, n, j, h) = E(ks()(b, j, n, h));
          for (index_t d = 0; d < s.Hv; ++d) c->tiles.value(b, n, j, d) = E(vs()(b, j, n, d));
        }
    return c;
  }

  template <class Mask, class Score>
  ashlar::AttentionOptions<Mask, Score> options(Mask mask, Score score) const {
    ashlar::AttentionOptions<Mask, Score> o{};
    o.mask = mask;
    o.score = score;
    o.scale = scale;
    if (!q_offset.empty()) o.q_offset = view_of(q_offset);
    if (!q_lengths.empty()) o.q_lengths = view_of(q_lengths);
    if (!kv_lengths.empty()) o.kv_lengths = view_of(kv_lengths);
    if (!sinks.empty()) o.sinks = {sinks.data(), {static_cast<index_t>(sinks.size())}};
    return o;
  }
  static ashlar::VectorView<const index_t> view_of(const std::vector<index_t>& x) {
    return {x.data(), {static_cast<index_t>(x.size())}};
  }

  /// Calls attention(out, options) and checks that nothing is written outside of out.
  template <class Options, class F>
  Result run(Options o, const F& attention) {
    Tensor out({s.B, s.T, s.N, s.Hv}, 3);
    support::PoisonedTensor<float, 3> lse({s.B, s.N, s.T}, 0);
    o.lse = {lse.data(), lse.extents(), lse.strides()};
    attention(view(out), o);
    EXPECT_TRUE(out.gaps_intact());
    return {out.values<Floats>(), lse.values<Floats>()};
  }
  template <class B, class Options>
  Result attend(ashlar::Context<B>& ctx, const Options& o) {
    return run(o, [&](auto out, auto& op) { ashlar::attention(ctx, cq(), ks(), vs(), out, op); });
  }
  template <class B, class E, class Options>
  Result attend(ashlar::Context<B>& ctx, Cache<E>& c, const Options& o) {
    return run(o, [&](auto out, auto& op) { ashlar::attention(ctx, cq(), c.tiles, out, op); });
  }
  template <class B, class Options>
  Result decode(ashlar::Context<B>& ctx, const Options& o) {
    return run(
        o, [&](auto out, auto& op) { ashlar::attention_decode(ctx, cq(), ks(), vs(), out, op); });
  }
  template <class B, class E, class Options>
  Result decode(ashlar::Context<B>& ctx, Cache<E>& c, const Options& o) {
    return run(o,
               [&](auto out, auto& op) { ashlar::attention_decode(ctx, cq(), c.tiles, out, op); });
  }
  template <class B, class Options>
  Result naive(ashlar::Context<B>& ctx, const Options& o) {
    return run(
        o, [&](auto out, auto& op) { ashlar::attention_naive(ctx, cq(), ks(), vs(), out, op); });
  }
  ashlar::TensorView<const float, 4> cq() { return qs(); }

  Shape s;
  Tensor q, k, v;
  float scale = 0.f;
  std::vector<index_t> q_offset, q_lengths, kv_lengths;
  Floats sinks;
};

/// A mask of plain bools with holes; asked about a pair that does not exist, it says so.
struct Holes {
  index_t q_begin = 0, q_end = 0, keys = 0;
  bool* strayed = nullptr;

  bool keep(index_t b, index_t h, index_t q, index_t k) const {
    if (strayed && (q < q_begin || q >= q_end || k < 0 || k >= keys)) *strayed = true;
    return (q * 7 + k * 5 + h + b) % 11 < 6 && k % 17 != 3;
  }
  ashlar::TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return ashlar::TileKind::partial;
  }
};
/// Everyone sees the first keys: a mask on vectors of positions.
struct Prefix {
  index_t length = 0;
  template <class P>
  auto keep(index_t, index_t, P, P k) const {
    return k < ashlar::detail::position<P>(length);
  }
  ashlar::TileKind classify(index_t, index_t, index_t, index_t, index_t k0, index_t k1) const {
    if (k0 >= length) return ashlar::TileKind::skip;
    return k1 <= length ? ashlar::TileKind::full : ashlar::TileKind::partial;
  }
};
/// Hides everything.
struct Nothing {
  bool keep(index_t, index_t, index_t, index_t) const { return false; }
  ashlar::TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return ashlar::TileKind::partial;
  }
};
/// A score of plain floats, without a product or a step that a rounding could cross.
struct PlainScore {
  float operator()(float s, index_t, index_t h, index_t q, index_t k) const {
    return (s > 1.f ? 1.f : s) - static_cast<float>((q + k + h) % 5);
  }
};

}  // namespace attention_test
