// A pre-norm decoder block and a causal language model in double, composed of the other oracles.
#pragma once

#include "activations.hpp"
#include "attention.hpp"
#include "linear.hpp"
#include "norms.hpp"
#include "rope.hpp"

namespace oracle {

/// A matrix [Out, In] with an optional bias.
struct Matrix {
  Vec weight, bias;
};
/// Gain and bias of a norm; an empty gain means no norm at all where one is optional.
struct Norm {
  Vec gain, bias;
};

enum class NormKind { rms, rms_plus_one, layer };

struct BlockConfig {
  Index D = 0, N = 1, K = 1, H = 1, F = 0;
  Index Hv = 0;  // width of the values; 0: H
  NormKind norm = NormKind::rms;
  double eps = 1e-5;
  bool gated = true;  // down(act(gate x) * up x), or down(act(up x))
  double (*activation)(double) = silu;
  bool rotate = true, interleaved = false;
  RopeTable rope;
  std::vector<Index> positions;  // of the T tokens for the rotation; empty: counted
  AttentionOptions attention;    // causal is up to the caller
};

struct BlockWeights {
  Norm attention_norm, ffn_norm;
  Norm q_norm, k_norm;  // per head, before the rotation; empty gain: none
  Matrix q, k, v, o, gate, up, down;
  Vec attention_scale, ffn_scale;  // LayerScale [D]; empty: none
};

inline Vec apply_norm(NormKind kind, const Vec& x, Index rows, Index width, double eps,
                      const Norm& n) {
  if (kind == NormKind::layer) return layer_norm(x, rows, width, eps, n.gain, n.bias);
  return rms_norm(x, rows, width, eps, n.gain, kind == NormKind::rms_plus_one);
}

/// x + scale * y, scale [D] over the rows, or 1.
inline void add_residual(Vec& x, const Vec& y, const Vec& scale, Index D) {
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += (scale.empty() ? 1.0 : scale[i % to_size(D)]) * y[i];
}

/// x [B, T, D] -> [B, T, D]; token t of every sequence is at first_position + t.
inline Vec decoder_block(const Vec& input, Index B, Index T, const BlockConfig& c,
                         const BlockWeights& w, Index first_position = 0) {
  Vec x = input;
  const Index M = B * T, Hv = c.Hv > 0 ? c.Hv : c.H;
  const Vec h = apply_norm(c.norm, x, M, c.D, c.eps, w.attention_norm);
  Vec q = linear(h, w.q.weight, M, c.D, c.N * c.H, w.q.bias);
  Vec k = linear(h, w.k.weight, M, c.D, c.K * c.H, w.k.bias);
  const Vec v = linear(h, w.v.weight, M, c.D, c.K * Hv, w.v.bias);
  if (!w.q_norm.gain.empty()) q = apply_norm(c.norm, q, M * c.N, c.H, c.eps, w.q_norm);
  if (!w.k_norm.gain.empty()) k = apply_norm(c.norm, k, M * c.K, c.H, c.eps, w.k_norm);
  if (c.rotate) {
    std::vector<Index> positions;
    for (Index m = 0; m < M; ++m)
      positions.push_back(c.positions.empty() ? first_position + m % T
                                              : c.positions[to_size(m % T)]);
    q = rope(q, positions, c.N, c.H, c.rope, c.interleaved);
    k = rope(k, positions, c.K, c.H, c.rope, c.interleaved);
  }
  const AttentionShape shape{B, T, T, c.N, c.K, c.H, Hv};
  const Vec mixed = attention(q, k, v, shape, c.attention).out;
  add_residual(x, linear(mixed, w.o.weight, M, c.N * Hv, c.D, w.o.bias), w.attention_scale, c.D);

  const Vec g = apply_norm(c.norm, x, M, c.D, c.eps, w.ffn_norm);
  Vec hidden = linear(g, w.up.weight, M, c.D, c.F, w.up.bias);
  if (c.gated) {
    hidden = gated(linear(g, w.gate.weight, M, c.D, c.F, w.gate.bias), hidden, c.activation);
  } else {
    for (double& a : hidden) a = c.activation(a);
  }
  add_residual(x, linear(hidden, w.down.weight, M, c.F, c.D, w.down.bias), w.ffn_scale, c.D);
  return x;
}

struct ModelWeights {
  Vec tokens;     // [V, D]
  Vec positions;  // [P, D] learned; empty: none
  std::vector<BlockWeights> layers;
  Norm final_norm;
  Vec head;  // [V, D]; empty: tied to tokens
};

struct ModelResult {
  std::vector<Vec>
      hidden;  // L + 1 times [B, T, D]: what enters each layer, then what the head multiplies
  Vec logits;  // [B, T, V]
};

/// Embedding, blocks (config of each from `config_of(layer)`), final norm, head. ids [B, T].
inline ModelResult causal_lm(const std::vector<Index>& ids, Index B, Index T, const ModelWeights& w,
                             const std::function<BlockConfig(Index layer)>& config_of) {
  const BlockConfig first = config_of(0);
  const Index D = first.D, V = static_cast<Index>(w.tokens.size()) / D;
  Vec x(to_size(B * T * D));
  for (Index m = 0; m < B * T; ++m)
    for (Index d = 0; d < D; ++d)
      x[to_size(m * D + d)] = w.tokens[to_size(ids[to_size(m)] * D + d)] +
                              (w.positions.empty() ? 0.0 : w.positions[to_size(m % T * D + d)]);
  ModelResult r;
  for (std::size_t layer = 0; layer < w.layers.size(); ++layer) {
    r.hidden.push_back(x);
    x = decoder_block(x, B, T, config_of(static_cast<Index>(layer)), w.layers[layer]);
  }
  r.hidden.push_back(apply_norm(first.norm, x, B * T, D, first.eps, w.final_norm));
  r.logits = linear(r.hidden.back(), w.head.empty() ? w.tokens : w.head, B * T, D, V);
  return r;
}

}  // namespace oracle
