// Blocks of several specs with random weights, and what the oracle says of them.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/ashlar.hpp>
#include <thread>

#include "support/compare.hpp"
#include "weight_store.hpp"

namespace nn_test {

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

/// The same bits; a build without fma promises only the same numbers within rounding.
template <class Got, class Expected>
::testing::AssertionResult same(const Got& got, const Expected& expected) {
  return ashlar::has_fma ? support::same_bits(got, expected)
                         : support::all_close_to_largest(got, expected, 3e-6);
}

/// A block that nobody published: (1 + gain) RMSNorm, a window, capped scores, GeGLU, LayerScale.
struct OwnSpec {
  using Norm = ashlar::BasicRmsNorm<ashlar::gain::PlusOne>;
  using Mixer =
      ashlar::Attention<ashlar::Rope, ashlar::NoQkNorm, ashlar::SlidingWindow, ashlar::SoftCap>;
  using Ffn = ashlar::Glu<ashlar::act::GeluTanh>;
  using Residual = ashlar::LayerScale;
  using Wiring = ashlar::PreNorm;
  using InputPosition = ashlar::NoPosition;
};

/// LlamaSpec with a cache of doubles or 16-bit floats.
template <class E>
struct LlamaWith : ashlar::LlamaSpec {
  using Mixer = ashlar::Attention<ashlar::Rope, ashlar::NoQkNorm, ashlar::CausalMask,
                                  ashlar::NoScore, ashlar::KvCache<E>>;
};

/// Sizes and numbers of a block; which of them a spec heeds is its own affair.
struct Sizes {
  ashlar::Dims dims;
  index_t rotary = 0;
  ashlar::RopePairing pairing = ashlar::RopePairing::half_split;
  bool biases = false;
  index_t window = 9;
};

template <class Spec>
typename ashlar::DecoderBlock<Spec>::Config block_config(const Sizes& s) {
  typename ashlar::DecoderBlock<Spec>::Config c;
  c.dims = s.dims;
  c.mixer.bias = {s.biases, s.biases, s.biases, s.biases};
  c.ffn.bias = s.biases;
  if constexpr (requires { c.norm.bias; }) c.norm.bias = s.biases;
  if constexpr (requires { c.mixer.position.rule; }) {
    c.mixer.position.rule.width = s.rotary;
    c.mixer.position.pairing = s.pairing;
  }
  if constexpr (std::is_same_v<Spec, OwnSpec>) {
    c.mixer.mask = ashlar::SlidingWindow(s.window);
    c.mixer.score = ashlar::SoftCap(2.f);
  }
  return c;
}

template <class Spec>
oracle::BlockConfig oracle_config(const typename ashlar::DecoderBlock<Spec>::Config& c) {
  const ashlar::Dims& d = c.dims;
  oracle::BlockConfig o;
  o.D = d.d_model;
  o.N = d.n_heads;
  o.K = d.n_kv_heads;
  o.H = d.head_dim;
  o.Hv = d.value_dim;
  o.F = d.d_ff;
  o.eps = static_cast<double>(c.norm.eps);
  o.attention.causal = true;
  // The library's default scale is rounded to float.
  o.attention.scale =
      static_cast<double>(static_cast<float>(1 / std::sqrt(static_cast<double>(d.head_dim))));
  o.rotate = false;
  if constexpr (std::is_same_v<typename Spec::Norm, ashlar::LayerNorm>)
    o.norm = oracle::NormKind::layer;
  if constexpr (std::is_same_v<typename Spec::Ffn, ashlar::Mlp<ashlar::act::GeluTanh>>) {
    o.gated = false;
    o.activation = oracle::gelu_tanh;
  }
  if constexpr (requires { c.mixer.position.rule; }) {
    o.rotate = true;
    o.interleaved = c.mixer.position.pairing == ashlar::RopePairing::interleaved;
    o.rope = oracle::rope_table(c.mixer.position.rule.theta, c.mixer.position.rule.width, o.H);
  }
  if constexpr (std::is_same_v<Spec, OwnSpec>) {
    o.norm = oracle::NormKind::rms_plus_one;
    o.activation = oracle::gelu_tanh;
    o.attention.window = c.mixer.mask.window();
    o.attention.softcap = static_cast<double>(c.mixer.score.cap());
  }
  return o;
}

/// One block, its weights and an input [B, T, D].
template <class Spec>
struct BlockProblem {
  using Block = ashlar::DecoderBlock<Spec>;

  BlockProblem(const Sizes& sizes, index_t batch, index_t tokens, std::uint64_t salt = 1)
      : c(block_config<Spec>(sizes)), store(salt), B(batch), T(tokens) {
    Block::visit(w, c, store);
    x = support::Random(salt + 100).normals<float>(B * T * c.dims.d_model, 2);
  }

  /// All tokens at once without a state.
  template <class E = float, class Backend>
  std::vector<E> forward(ashlar::Context<Backend>& ctx) const {
    std::vector<E> y(x.begin(), x.end());
    Block::forward(ctx, c, w, ashlar::TokenBatch(B, T), nullptr, view(y, B * T));
    return y;
  }
  /// Tokens in chunks through a state made for them. [B, T, D] like forward().
  template <class E = float, class Backend>
  std::vector<E> in_chunks(ashlar::Context<Backend>& ctx, index_t chunk) const {
    auto state = Block::make_state(c, B, T);
    return in_chunks<E>(ctx, chunk, state);
  }
  template <class E = float, class Backend>
  std::vector<E> in_chunks(ashlar::Context<Backend>& ctx, index_t chunk,
                           typename Block::State& state) const {
    std::vector<E> y(x.begin(), x.end());
    const index_t D = c.dims.d_model;
    for (index_t t = 0; t < T; t += chunk) {
      const index_t n = std::min(chunk, T - t);
      std::vector<E> part(static_cast<std::size_t>(B * n * D));
      for (index_t b = 0; b < B; ++b)
        std::copy_n(y.begin() + (b * T + t) * D, n * D, part.begin() + b * n * D);
      Block::forward(ctx, c, w, ashlar::TokenBatch(B, n, t), &state, view(part, B * n));
      for (index_t b = 0; b < B; ++b)
        std::copy_n(part.begin() + b * n * D, n * D, y.begin() + (b * T + t) * D);
    }
    return y;
  }
  oracle::Vec expected() const {
    return oracle::decoder_block({x.begin(), x.end()}, B, T, oracle_config<Spec>(c), store.block());
  }
  template <class E>
  ashlar::MatrixView<E> view(std::vector<E>& y, index_t rows) const {
    return {y.data(), {rows, c.dims.d_model}};
  }

  typename Block::Config c;
  typename Block::Weights w;
  WeightStore store;
  index_t B, T;
  Floats x;
};

}  // namespace nn_test
