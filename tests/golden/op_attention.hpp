// Golden cases of attention: the three functions on one backend, from rows and from a cache in
// tiles.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/sequence.hpp>
#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/ops/attention.hpp>
#include <ashlar/ops/attention_decode.hpp>
#include <ashlar/ops/attention_naive.hpp>
#include <cfloat>

#include "attention_case.hpp"
#include "views.hpp"

namespace golden {

/// Result of one call.
struct AttentionOutput {
  std::vector<float> out, lse;
};

/// Inputs with `gap` poisoned elements between rows, and outputs that start as NaN.
struct AttentionMemory {
  AttentionMemory(const AttentionCase& c, index_t gap)
      : q({c.shape.B, c.shape.T, c.shape.N, c.shape.H}, gap, 2 * gap),
        k({c.shape.B, c.shape.S, c.shape.K, c.shape.H}, gap, gap),
        v({c.shape.B, c.shape.S, c.shape.K, c.shape.Hv}, 3 * gap, gap),
        out({c.shape.B, c.shape.T, c.shape.N, c.shape.Hv}, gap, gap),
        lse({c.shape.B, c.shape.N, c.shape.T}, gap, gap) {
    q.assign(std::span<const float>(c.q));
    k.assign(std::span<const float>(c.k));
    v.assign(std::span<const float>(c.v));
  }
  AttentionOutput take() {
    EXPECT_TRUE(out.gaps_intact() && lse.gaps_intact()) << "written outside of the result";
    return {out.values<std::vector<float>>(), lse.values<std::vector<float>>()};
  }
  support::PoisonedTensor<float, 4> q, k, v, out;
  support::PoisonedTensor<float, 3> lse;
};

/// The keys and values of a case as a cache in tiles; unused slots hold NaN.
struct CaseTiles {
  explicit CaseTiles(const AttentionCase& c)
      : tiles_a_head(ashlar::ceil_div(c.shape.S, ashlar::key_tile)),
        k(c.shape.B * c.shape.K * tiles_a_head * Tiles::k_tile_size(c.shape.H)),
        v(c.shape.B * c.shape.K * tiles_a_head * Tiles::v_tile_size(c.shape.Hv)),
        lengths(oracle::to_size(c.shape.B), c.shape.S) {
    const auto& s = c.shape;
    tiles = {k.data(), v.data(), lengths.data(), s.B, tiles_a_head, s.K, s.H, s.Hv, s.S};
    for (index_t b = 0; b < s.B; ++b)
      for (index_t j = 0; j < s.S; ++j)
        for (index_t h = 0; h < s.K; ++h) {
          const index_t row = (b * s.S + j) * s.K + h;
          for (index_t d = 0; d < s.H; ++d)
            tiles.key(b, h, j, d) = c.k[oracle::to_size(row * s.H + d)];
          for (index_t d = 0; d < s.Hv; ++d)
            tiles.value(b, h, j, d) = c.v[oracle::to_size(row * s.Hv + d)];
        }
  }
  using Tiles = ashlar::KvTiles<float>;
  index_t tiles_a_head;
  support::PoisonedBuffer<float> k, v;
  std::vector<index_t> lengths;
  Tiles tiles;
};

/// A copy whose keys that no query sees hold NaN and infinity in K and V (V4).
inline void poison_hidden_keys(AttentionMemory& memory, const AttentionCase& c) {
  const auto& s = c.shape;
  const auto k = view(memory.k), v = view(memory.v);
  for (index_t b = 0; b < s.B; ++b)
    for (index_t j = 0; j < s.S; ++j) {
      bool seen = false;
      for (index_t i = 0; i < s.T; ++i)
        seen = seen || c.visible[oracle::to_size((b * s.T + i) * s.S + j)] != 0;
      if (seen) continue;
      for (index_t h = 0; h < s.K; ++h) {
        for (index_t d = 0; d < s.H; ++d) k(b, j, h, d) = d % 2 == 0 ? NAN : HUGE_VALF;
        for (index_t d = 0; d < s.Hv; ++d) v(b, j, h, d) = d % 2 == 0 ? -HUGE_VALF : NAN;
      }
    }
}

/// All functions with one mask and score.
template <class B, class Mask, class Score>
void run_attention(const AttentionCase& c, Mask mask, Score score) {
  ashlar::Context<B> ctx;
  ashlar::AttentionOptions<Mask, Score> options;
  options.mask = mask;
  options.score = score;
  options.scale = static_cast<float>(*c.options.scale);
  options.q_offset = vector_view(c.q_offset);
  if (!c.q_lengths.empty()) options.q_lengths = vector_view(c.q_lengths);
  if (!c.kv_lengths.empty()) options.kv_lengths = vector_view(c.kv_lengths);
  options.sinks = vector_view(c.sinks);

  // A weight below the normal range of float counts for nothing, which only shows beside a large
  // sink.
  const double flushed =
      static_cast<double>(c.shape.S) * double{FLT_MIN} * support::max_magnitude(c.v);
  const auto expect = [&](const AttentionOutput& got, const char* function) {
    const double tolerance = std::max(c.factor * support::max_magnitude(c.out), flushed);
    EXPECT_TRUE(support::all_close(got.out, c.out, tolerance)) << function << ": out";
    EXPECT_TRUE(support::all_close_to_largest(got.lse, c.lse, c.factor)) << function << ": lse";
  };
  const auto expect_same = [&](const AttentionOutput& got, const AttentionOutput& same,
                               const char* what) {
    EXPECT_TRUE(support::same_bits(got.out, same.out)) << what << ": out";
    EXPECT_TRUE(support::same_bits(got.lse, same.lse)) << what << ": lse";
  };
  const auto call = [&](AttentionMemory& m, auto&& function) {
    options.lse = view(m.lse);
    function(const_view(m.q), const_view(m.k), const_view(m.v), view(m.out));
    return m.take();
  };
  const auto naive = [&](auto q, auto k, auto v, auto out) {
    ashlar::attention_naive(ctx, q, k, v, out, options);
  };
  const auto tiled = [&](auto q, auto k, auto v, auto out) {
    ashlar::attention(ctx, q, k, v, out, options);
  };
  const auto decode = [&](auto q, auto k, auto v, auto out) {
    ashlar::attention_decode(ctx, q, k, v, out, options);
  };

  AttentionMemory plain(c, 0);
  const AttentionOutput first_naive = call(plain, naive);
  const AttentionOutput first = call(plain, tiled);
  expect(first_naive, "attention_naive");
  expect(first, "attention");
  expect_same(call(plain, decode), first, "attention_decode");

  AttentionMemory strided(c, 5), poisoned(c, 0);
  expect_same(call(strided, naive), first_naive, "attention_naive, strided");
  expect_same(call(strided, tiled), first, "attention, strided");
  expect_same(call(strided, decode), first, "attention_decode, strided");
  poison_hidden_keys(poisoned, c);
  expect_same(call(poisoned, naive), first_naive, "attention_naive, hidden keys poisoned");
  expect_same(call(poisoned, tiled), first, "attention, hidden keys poisoned");
  expect_same(call(poisoned, decode), first, "attention_decode, hidden keys poisoned");

  const CaseTiles cache(c);
  AttentionMemory from_tiles(c, 0);
  expect_same(
      call(from_tiles, [&](auto q, auto, auto,
                           auto out) { ashlar::attention(ctx, q, cache.tiles, out, options); }),
      first, "attention from tiles");
  expect_same(call(from_tiles,
                   [&](auto q, auto, auto, auto out) {
                     ashlar::attention_decode(ctx, q, cache.tiles, out, options);
                   }),
              first, "attention_decode from tiles");
}

/// The case by functors of the test (tables of what is visible and of the bias), which every kernel
/// takes, and by the library's own masks and scores where it has them.
template <class B>
void attention(const OpCase& op_case) {
  using ashlar::Alibi, ashlar::CausalMask, ashlar::NoMask, ashlar::NoScore, ashlar::SlidingWindow,
      ashlar::SoftCap;
  const AttentionCase c(op_case);
  const SoftCap cap(static_cast<float>(c.options.softcap));
  const auto bias = pair_bias(c);
  const TableMask table_mask{c.visible.data(), c.q_offset.data(), c.shape.T, c.shape.S};
  run_attention<B>(
      c, table_mask,
      cap >> TableBias{bias.data(), c.q_offset.data(), c.shape.N, c.shape.T, c.shape.S});
  if (!c.library_mask || !c.library_score) return;

  const std::vector<float> none(oracle::to_size(c.shape.N), 0.f);
  const auto score = cap >> Alibi(vector_view(c.slopes.empty() ? none : c.slopes));
  const bool plain = c.options.softcap == 0 && c.slopes.empty();
  const auto window =
      CausalMask{} & (c.options.window ? SlidingWindow(c.options.window) : SlidingWindow());
  if (c.options.bias) {
    const auto bucketed =
        cap >> ashlar::T5RelativeBias(
                   c.buckets, ashlar::MatrixView<const float>(c.bias_table.data(),
                                                              {c.buckets.buckets(), c.shape.N}));
    if (c.options.window || c.options.causal)
      run_attention<B>(c, window, bucketed);
    else
      run_attention<B>(c, NoMask{}, bucketed);
  } else if (c.options.window || (c.options.causal && !plain)) {
    if (plain)
      run_attention<B>(c, window, NoScore{});
    else
      run_attention<B>(c, window, score);
  } else if (c.options.causal) {
    run_attention<B>(c, CausalMask{}, NoScore{});
  } else if (plain) {
    run_attention<B>(c, NoMask{}, NoScore{});
  } else {
    run_attention<B>(c, NoMask{}, score);
  }
}

/// Masks and scores that the library has no functor for; a test of its own name.
inline void attention_functors(const OpCase& op_case) {
  const AttentionCase c(op_case);
  std::string missing;
  if (c.options.prefix) missing += " prefix mask,";
  if (!c.options.documents.empty()) missing += " document mask,";
  if (c.options.block_size) missing += " block mask,";
  if (c.options.alibi_from_origin) missing += " ALiBi from the origin,";
  if (missing.empty()) return;
  missing.pop_back();
  throw Unsupported{"the library has no functor yet for:" + missing};
}

}  // namespace golden
