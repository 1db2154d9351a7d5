// plan: what a model of some configuration costs, counted from its configuration alone. No weight
// of real size is ever made.
#pragma once

#include <ashlar/attention/kv_tiles.hpp>
#include <ashlar/attention/tile_kind.hpp>
#include <ashlar/nn/policy.hpp>
#include <string>
#include <vector>

/// All functions take a model type (CausalLm<Spec>, or anything with Config, Weights and visit) and
/// count what it names, so that a policy from outside the library is counted like ours.
namespace ashlar::inline ASHLAR_ABI::plan {

/// A weight as `visit` names it.
struct WeightShape {
  std::string name;
  std::vector<index_t> extents;

  bool matrix() const { return extents.size() == 2; }
  index_t elements() const {
    index_t n = 1;
    for (const index_t e : extents) n *= e;
    return n;
  }
  bool in_layer() const { return name.starts_with("layers."); }
  /// Rows are looked up by token or position, no product is formed.
  bool table() const {
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    return matrix() &&
           (has("embedding") || has("position.") || has("registers") || has("relative_bias"));
  }
  /// Multiplies every token.
  bool product() const { return matrix() && !table(); }
};

template <class Lm>
std::vector<WeightShape> weight_shapes(const typename Lm::Config& config) {
  std::vector<WeightShape> shapes;
  typename Lm::Weights weights;
  Lm::visit(weights, config,
            [&](std::string_view name, auto&, std::initializer_list<index_t> extents) {
              shapes.push_back({std::string(name), extents});
            });
  return shapes;
}

/// Counts of parameters. A tied head is the embedding and counts once.
struct Parameters {
  index_t tables = 0;  // looked up: embeddings of tokens and positions, registers
  index_t head = 0;    // a head of its own, with its bias
  index_t rest = 0;    // the layers and the last norm

  index_t total() const { return tables + head + rest; }
  index_t embedding() const { return tables + head; }
  /// N of Kaplan et al. 2020: without the vocabulary on either side and without positions.
  index_t non_embedding() const { return rest; }
};

template <class Lm>
Parameters parameters(const typename Lm::Config& config) {
  Parameters p;
  for (const WeightShape& w : weight_shapes<Lm>(config))
    (w.table() ? p.tables : w.name.starts_with("head") ? p.head : p.rest) += w.elements();
  return p;
}

/// Bytes of the weights with every matrix stored as `type` and every vector as F32.
/// Throws ValueError for a matrix whose rows are no whole number of the type's blocks.
template <class Lm>
index_t weight_bytes(const typename Lm::Config& config, DType type) {
  const DTypeInfo t = info(type);
  index_t bytes = 0;
  for (const WeightShape& w : weight_shapes<Lm>(config)) {
    if (!w.matrix()) {
      bytes += w.elements() * static_cast<index_t>(sizeof(float));
      continue;
    }
    if (w.extents[1] % t.elements != 0)
      fail<ValueError>("weight_bytes: ", w.name, " has rows of ", w.extents[1],
                       " elements, expected a whole number of ", t.name, " blocks of ", t.elements);
    bytes += w.elements() / t.elements * t.bytes;
  }
  return bytes;
}

/// Pairs of query and key that a mask lets see each other, for queries at positions q0 <= q < q1
/// and keys k0 <= k < k1. The rectangle is halved until the mask calls a part full or empty.
template <MaskPolicy Mask>
double visible_pairs(const Mask& mask, index_t q0, index_t q1, index_t k0, index_t k1) {
  if (q0 >= q1 || k0 >= k1) return 0;
  const TileKind kind = mask.classify(0, 0, q0, q1, k0, k1);
  const double pairs = static_cast<double>(q1 - q0) * static_cast<double>(k1 - k0);
  if (kind != TileKind::partial) return kind == TileKind::full ? pairs : 0;
  if (pairs == 1) return mask.keep(0, 0, q0, k0) ? 1 : 0;
  if (q1 - q0 > k1 - k0) {
    const index_t q = q0 + (q1 - q0) / 2;
    return visible_pairs(mask, q0, q, k0, k1) + visible_pairs(mask, q, q1, k0, k1);
  }
  const index_t k = k0 + (k1 - k0) / 2;
  return visible_pairs(mask, q0, q1, k0, k) + visible_pairs(mask, q0, q1, k, k1);
}

/// Floating-point operations of one token, a multiplication and an addition counted as two.
struct Flops {
  double layers = 0;     // 2 x the elements of every matrix but tables and head
  double head = 0;       // 2 V D, tied or not
  double attention = 0;  // 2 N (H + Hv) x the keys that the token sees, over the layers

  double total() const { return layers + head + attention; }
};

namespace detail {
template <class Lm>
Flops products(const typename Lm::Config& config) {
  Flops f;
  for (const WeightShape& w : weight_shapes<Lm>(config))
    if (w.product())
      (w.name.starts_with("head") ? f.head : f.layers) += 2.0 * static_cast<double>(w.elements());
  if constexpr (requires { config.tied_head; })
    if (config.tied_head)
      f.head += 2.0 * static_cast<double>(config.vocabulary) * static_cast<double>(config.d_model);
  return f;
}
/// 2 N (H + Hv) x visible pairs, over the layers that have a mask, for queries q0 <= q < q1.
template <class Lm>
double attention_flops(const typename Lm::Config& config, index_t q0, index_t q1) {
  double sum = 0;
  for (const auto& layer : config.layers)
    if constexpr (requires { layer.mixer.mask; }) {
      const Dims& d = layer.dims;
      sum += 2.0 * static_cast<double>(d.n_heads * (d.head_dim + d.values())) *
             visible_pairs(layer.mixer.mask, q0, q1, 0, q1);
    }
  return sum;
}
}  // namespace detail

/// The last of `context` tokens, as in decoding. Norms, activations, rotations, softmax, biases and
/// sums into the stream are left out: a few parts in a thousand. A mask that differs by head counts
/// as that of head 0. Source of the counting: Kaplan et al. 2020, table 1.
template <class Lm>
Flops decode_flops(const typename Lm::Config& config, index_t context) {
  Flops f = detail::products<Lm>(config);
  f.attention = detail::attention_flops<Lm>(config, context - 1, context);
  return f;
}
/// The mean token of a sequence of `tokens`, as in prefill and in training.
template <class Lm>
Flops forward_flops(const typename Lm::Config& config, index_t tokens) {
  Flops f = detail::products<Lm>(config);
  f.attention = detail::attention_flops<Lm>(config, 0, tokens) / static_cast<double>(tokens);
  return f;
}
/// Forward and backward: 3 x forward_flops, as a backward pass forms two products for each of the
/// forward pass. Recomputed activations would make it 4 x.
template <class Lm>
Flops training_flops(const typename Lm::Config& config, index_t tokens) {
  const Flops f = forward_flops<Lm>(config, tokens);
  return {3 * f.layers, 3 * f.head, 3 * f.attention};
}

/// Bytes of keys and values: K (H + Hv) elements of `type` a token and layer with a cache of its
/// own.
/// `kept_by_mask` counts only the tokens that the last query still sees, which is what a cache that
/// forgets has to hold in layers with a window.
template <class Lm>
double kv_bytes(const typename Lm::Config& config, index_t context, DType type,
                bool kept_by_mask = false) {
  double elements = 0;
  for (const auto& layer : config.layers)
    if constexpr (requires { layer.mixer.mask; }) {
      if constexpr (requires { layer.mixer.shared; })
        if (layer.mixer.shared) continue;
      const Dims& d = layer.dims;
      const double tokens = kept_by_mask
                                ? visible_pairs(layer.mixer.mask, context - 1, context, 0, context)
                                : static_cast<double>(context);
      elements += static_cast<double>(d.n_kv_heads * (d.head_dim + d.values())) * tokens;
    }
  return elements / static_cast<double>(info(type).elements) *
         static_cast<double>(info(type).bytes);
}

/// What State(config, batch, capacity).bytes() will be: the spec's cache with its padding. Made
/// from two small states; right for states that grow by equal steps a tile of 64 tokens or not at
/// all.
template <class Lm>
index_t state_bytes(typename Lm::Config config, index_t batch, index_t capacity) {
  using State = typename Lm::State;
  const index_t registers = config.registers;
  config.context_length = 0;  // the small states may be longer than the model allows
  const index_t one = round_up(registers + 1, key_tile) - registers;
  if (capacity <= one) return batch * State(config, 1, capacity).bytes();
  const index_t first = State(config, 1, one).bytes();
  const index_t step = State(config, 1, one + key_tile).bytes() - first;
  return batch * (first + ceil_div(capacity - one, key_tile) * step);
}

/// Bytes that a training step keeps of each token for the backward pass.
struct TrainingActivations {
  double layers = 0;  // inputs of products, norms, activations and attention
  double logits = 0;  // in F32, and what the last norm and the head take
  double scores = 0;  // attention's probabilities, where they are kept (not by tiled attention)
};

/// The usual estimate, without dropout: of each layer the input of every norm and sublayer, q, k, v
/// and the mixed values, the feed-forward's hidden rows before and after the activation. For GPT's
/// shape that is 32 D bytes a token and layer at two bytes an element, and 2 N T more for scores.
/// Source: Korthikanti et al. 2022, whose 34 D count two dropout masks besides.
template <class Lm>
TrainingActivations training_activations(const typename Lm::Config& config, index_t tokens,
                                         index_t element_bytes = 2) {
  double layers = 0, scores = 0;
  for (const WeightShape& w : weight_shapes<Lm>(config)) {
    if (!w.in_layer()) continue;
    // What leaves a projection inward is kept, of one outward what enters it.
    if (w.product())
      layers += static_cast<double>(
          w.name.ends_with(".o") || w.name.ends_with(".down") ? w.extents[1] : w.extents[0]);
    else if (w.name.ends_with("norm.gain"))
      layers += static_cast<double>(w.elements());
  }
  for (const auto& layer : config.layers) {
    layers += 2.0 * static_cast<double>(layer.dims.d_model);
    if constexpr (requires { layer.mixer.mask; })
      scores += static_cast<double>(layer.dims.n_heads * tokens);
  }
  const auto bytes = static_cast<double>(element_bytes);
  return {layers * bytes,
          4.0 * static_cast<double>(config.vocabulary) +
              2.0 * static_cast<double>(config.d_model) * bytes,
          scores * bytes};
}

}  // namespace ashlar::inline ASHLAR_ABI::plan
