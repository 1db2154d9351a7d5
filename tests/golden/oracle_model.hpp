// Llama and GPT-2 in double on the golden models, to know that the oracle block is right.
#pragma once

#include <gtest/gtest.h>

#include "../oracle/block.hpp"
#include "../support/compare.hpp"
#include "model_case.hpp"

namespace golden::by_oracle {

using oracle::Vec;

/// Tensors of model.safetensors as double.
class Tensors {
 public:
  explicit Tensors(const ModelCase& c) : source_(ashlar::open_safetensors_folder(c.folder())) {}
  Vec operator()(const std::string& name) const { return read_values<double>(source_->at(name)); }
  Vec or_none(const std::string& name) const { return source_->find(name) ? (*this)(name) : Vec(); }
  oracle::Matrix matrix(const std::string& name) const {
    return {(*this)(name + ".weight"), or_none(name + ".bias")};
  }
  oracle::Norm norm(const std::string& name) const {
    return {(*this)(name + ".weight"), or_none(name + ".bias")};
  }

 private:
  std::unique_ptr<ashlar::TensorSource> source_;
};

inline oracle::RopeScaling rope_scaling(const ModelCase& c, const ashlar::Json& rope) {
  oracle::RopeScaling s;
  const auto* type = rope.find("rope_type");
  const std::string kind = type ? type->as_string() : "default";
  const auto number = [&](const char* key, double otherwise) {
    const auto* value = rope.find(key);
    return value && !value->is_null() ? value->as_number(key) : otherwise;
  };
  using oracle::Scaling;
  if (kind == "linear") {
    s.kind = Scaling::linear;
  } else if (kind == "dynamic") {
    s.kind = Scaling::dynamic;
  } else if (kind == "yarn") {
    s.kind = Scaling::yarn;
  } else if (kind == "llama3") {
    s.kind = Scaling::llama3;
  } else if (kind != "default") {
    throw Unsupported{"rope scaling " + kind};
  }
  s.factor = number("factor", 1);
  s.original = number("original_max_position_embeddings", c.number("max_position_embeddings", 0));
  s.length = static_cast<double>(c.tokens());
  s.low = number("low_freq_factor", 1);
  s.high = number("high_freq_factor", 4);
  s.beta_fast = number("beta_fast", 32);
  s.beta_slow = number("beta_slow", 1);
  return s;
}

inline oracle::ModelResult run_llama(const ModelCase& c) {
  const Tensors t(c);
  oracle::BlockConfig block;
  block.D = c.integer("hidden_size", 0);
  block.N = c.integer("num_attention_heads", 1);
  block.K = c.integer("num_key_value_heads", block.N);
  block.H = c.integer("head_dim", block.D / block.N);
  block.F = c.integer("intermediate_size", 0);
  block.eps = c.number("rms_norm_eps", 1e-6);
  const auto* parameters = c.config().find("rope_parameters");
  if (!parameters) throw Unsupported{"the oracle reads rope_parameters only"};
  const ashlar::Json& rope = *parameters;
  if (c.config().find("hidden_act") && c.config().at("hidden_act").as_string() != "silu")
    throw Unsupported{"the oracle knows Llama with silu only"};
  block.rope = oracle::rope_table(rope.at("rope_theta").as_number(), block.H, block.H,
                                  rope_scaling(c, rope));
  block.attention.causal = true;
  oracle::ModelWeights w;
  w.tokens = t("model.embed_tokens.weight");
  w.final_norm = t.norm("model.norm");
  w.head = t.or_none("lm_head.weight");
  for (index_t i = 0; i < c.integer("num_hidden_layers", 0); ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".", a = layer + "self_attn.",
                      m = layer + "mlp.";
    oracle::BlockWeights b;
    b.attention_norm = t.norm(layer + "input_layernorm");
    b.ffn_norm = t.norm(layer + "post_attention_layernorm");
    b.q = t.matrix(a + "q_proj");
    b.k = t.matrix(a + "k_proj");
    b.v = t.matrix(a + "v_proj");
    b.o = t.matrix(a + "o_proj");
    b.gate = t.matrix(m + "gate_proj");
    b.up = t.matrix(m + "up_proj");
    b.down = t.matrix(m + "down_proj");
    w.layers.push_back(b);
  }
  return oracle::causal_lm(c.expected<index_t>("input_ids"), c.sequences(), c.tokens(), w,
                           [&](index_t) { return block; });
}

inline oracle::ModelResult run_gpt2(const ModelCase& c) {
  const Tensors t(c);
  oracle::BlockConfig block;
  block.D = c.integer("n_embd", 0);
  block.N = block.K = c.integer("n_head", 1);
  block.H = block.D / block.N;
  block.F = c.integer("n_inner", 4 * block.D);
  block.norm = oracle::NormKind::layer;
  block.eps = c.number("layer_norm_epsilon", 1e-5);
  block.gated = block.rotate = false;
  block.activation = oracle::gelu_tanh;
  if (c.config().find("activation_function") &&
      c.config().at("activation_function").as_string() != "gelu_new")
    throw Unsupported{"the oracle knows GPT-2 with gelu_new only"};
  block.attention.causal = true;
  oracle::ModelWeights w;
  w.tokens = t("transformer.wte.weight");
  w.positions = t("transformer.wpe.weight");
  w.final_norm = t.norm("transformer.ln_f");
  w.head = t.or_none("lm_head.weight");
  const auto conv = [&](const std::string& name, index_t in, index_t out) {  // stored [in, out]
    return oracle::Matrix{oracle::transposed(t(name + ".weight"), in, out), t(name + ".bias")};
  };
  for (index_t i = 0; i < c.integer("n_layer", 0); ++i) {
    const std::string layer = "transformer.h." + std::to_string(i) + ".";
    oracle::BlockWeights b;
    b.attention_norm = t.norm(layer + "ln_1");
    b.ffn_norm = t.norm(layer + "ln_2");
    const oracle::Matrix qkv = conv(layer + "attn.c_attn", block.D, 3 * block.D);
    oracle::Matrix* const parts[] = {&b.q, &b.k, &b.v};
    for (index_t p = 0; p < 3; ++p) {
      const auto cut = [&](const Vec& v, index_t each) {
        return Vec(v.begin() + p * each, v.begin() + (p + 1) * each);
      };
      *parts[p] = {cut(qkv.weight, block.D * block.D), cut(qkv.bias, block.D)};
    }
    b.o = conv(layer + "attn.c_proj", block.D, block.D);
    b.up = conv(layer + "mlp.c_fc", block.D, block.F);
    b.down = conv(layer + "mlp.c_proj", block.F, block.D);
    w.layers.push_back(b);
  }
  const bool by_layer = c.flag("scale_attn_by_inverse_layer_idx");
  return oracle::causal_lm(
      c.expected<index_t>("input_ids"), c.sequences(), c.tokens(), w, [&](index_t layer) {
        oracle::BlockConfig config = block;
        config.attention.scale = 1 / std::sqrt(static_cast<double>(block.H)) /
                                 (by_layer ? static_cast<double>(layer + 1) : 1.0);
        return config;
      });
}

inline void model(const ModelCase& c) {
  oracle::ModelResult r;
  if (c.family() == "llama") {
    r = run_llama(c);
  } else if (c.family() == "gpt2") {
    r = run_gpt2(c);
  } else {
    throw Unsupported{"the oracle has no family " + c.family()};
  }
  EXPECT_TRUE(support::all_close_to_largest(r.logits, c.expected<double>("logits"), 1e-7))
      << "logits";
  Vec hidden;
  for (const Vec& h : r.hidden) hidden.insert(hidden.end(), h.begin(), h.end());
  EXPECT_TRUE(support::all_close_to_largest(hidden, c.expected<double>("hidden_states"), 1e-7))
      << "hidden_states";
}

}  // namespace golden::by_oracle
