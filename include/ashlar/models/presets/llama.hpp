// Llama: Llama 1 to 3.x, SmolLM 1 and 2, and every checkpoint that calls itself "llama".
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/rope_config.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/weights/name_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Touvron et al. 2023; Grattafiori et al. 2024.
struct LlamaFamily {
  using Spec = LlamaSpec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "llama";

  static Lm::Config config(const Checkpoint& checkpoint) {
    return checkpoint.gguf() ? from_gguf(*checkpoint.gguf()) : from_json(*checkpoint.config());
  }
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config&) {
    return checkpoint.gguf() ? gguf_names() : hugging_face_names();
  }

 private:
  static constexpr index_t layer_limit = 10'000;  // a number that no model has

  static void fill_layers(Lm::Config& c, index_t layers, const Lm::Block::Config& layer) {
    c.d_model = layer.dims.d_model;
    c.final_norm = layer.norm;
    c.layers.assign(static_cast<std::size_t>(layers), layer);
  }

  static Lm::Config from_json(const ConfigReader& j) {
    if (const auto act = j.string("hidden_act", "silu"); act != "silu")
      j.refuse("hidden_act", act, "silu");
    Lm::Block::Config layer;
    Dims& d = layer.dims;
    d.d_model = j.size("hidden_size");
    d.n_heads = j.size("num_attention_heads");
    d.n_kv_heads = j.size("num_key_value_heads", d.n_heads);
    d.head_dim = j.size("head_dim", max_index(d.d_model / d.n_heads, 1));
    d.d_ff = j.size("intermediate_size");
    if (d.n_heads % d.n_kv_heads != 0)
      fail<ValueError>(j.what("num_key_value_heads"), " is ", d.n_kv_heads,
                       ", expected a divisor of num_attention_heads ", d.n_heads);
    layer.norm.eps = static_cast<float>(j.positive("rms_norm_eps", 1e-6));
    layer.mixer.position.rule = read_rope_rule(j, d.head_dim, 10000.0);
    layer.mixer.qkv_bias = layer.mixer.out_bias = j.boolean("attention_bias", false);
    layer.ffn.bias = j.boolean("mlp_bias", false);

    Lm::Config c;
    c.vocabulary = j.size("vocab_size");
    c.context_length = j.size("max_position_embeddings", 2048);
    c.tied_head = j.boolean("tie_word_embeddings", false);
    // Stretched by the length of the call: no end that could be named.
    if (layer.mixer.position.rule.depends_on_length()) c.context_length = 0;
    fill_layers(c, j.size("num_hidden_layers", -1, 1, layer_limit), layer);
    return c;
  }

  static Lm::Config from_gguf(const GgufFile& g) {
    Lm::Block::Config layer;
    Dims& d = layer.dims;
    d.d_model = size(g, "llama.embedding_length");
    d.n_heads = size(g, "llama.attention.head_count");
    d.n_kv_heads = size(g, "llama.attention.head_count_kv", d.n_heads);
    d.head_dim = size(g, "llama.attention.key_length", max_index(d.d_model / d.n_heads, 1),
                      index_t{1} << 16);
    d.value_dim = size(g, "llama.attention.value_length", d.head_dim);
    d.d_ff = size(g, "llama.feed_forward_length");
    if (d.n_heads % d.n_kv_heads != 0)
      fail<ValueError>(g.path(), ": llama.attention.head_count_kv is ", d.n_kv_heads,
                       ", expected a divisor of llama.attention.head_count ", d.n_heads);
    layer.norm.eps = static_cast<float>(positive(g, "llama.attention.layer_norm_rms_epsilon"));
    // The rows of q and k are stored so that neighbours turn together.
    layer.mixer.position.pairing = RopePairing::interleaved;
    RopeRule& rule = layer.mixer.position.rule;
    rule.theta = g.find_key("llama.rope.freq_base") ? positive(g, "llama.rope.freq_base") : 10000.0;
    rule.width = size(g, "llama.rope.dimension_count", d.head_dim);
    if (rule.width % 2 != 0 || rule.width > d.head_dim)
      fail<ValueError>(g.path(), ": llama.rope.dimension_count is ", rule.width,
                       ", expected an even number of at most the head's ", d.head_dim);
    rule.scaling = scaling(g, rule.width / 2);

    Lm::Config c;
    const TensorInfo& table = g.at("token_embd.weight");
    c.vocabulary = size(g, "llama.vocab_size", table.shape.empty() ? 1 : table.shape[0]);
    c.context_length = size(g, "llama.context_length");
    c.tied_head = g.find("output.weight") == nullptr;
    layer.mixer.qkv_bias = g.find("blk.0.attn_q.bias") != nullptr;
    layer.mixer.out_bias = g.find("blk.0.attn_output.bias") != nullptr;
    fill_layers(c, size(g, "llama.block_count", -1, layer_limit), layer);
    return c;
  }
  static index_t size(const GgufFile& g, std::string_view key, index_t fallback = -1,
                      index_t high = index_t{1} << 31) {
    const index_t n = fallback < 0 ? g.integer(key) : g.integer(key, fallback);
    if (n < 1 || n > high)
      fail<ValueError>(g.path(), ": ", key, " is ", n, ", expected 1 to ", high);
    return n;
  }
  static double positive(const GgufFile& g, std::string_view key) {
    const double x = g.number(key);
    if (!(x > 0) || !std::isfinite(x))
      fail<ValueError>(g.path(), ": ", key, " is ", x, ", expected a finite number above 0");
    return x;
  }
  static RopeScaling scaling(const GgufFile& g, index_t pairs) {
    if (const TensorInfo* divisors = g.find("rope_freqs.weight")) {
      if (divisors->elements() != pairs)
        fail<FileError>(g.path(), ": rope_freqs.weight has ", divisors->elements(),
                        " elements, expected ", pairs, ", one a rotated pair");
      std::vector<float> values(static_cast<std::size_t>(pairs));
      read_f32(*divisors, values);
      for (const float x : values)
        if (!(x > 0) || !std::isfinite(x))
          fail<ValueError>(g.path(), ": rope_freqs.weight holds ", x,
                           ", expected finite numbers above 0");
      return rope_scaling::Divisors{{values.begin(), values.end()}};
    }
    const auto type = g.string("llama.rope.scaling.type", "none");
    if (type == "linear") return rope_scaling::Linear{positive(g, "llama.rope.scaling.factor")};
    if (type != "none")
      fail<ValueError>(g.path(), ": llama.rope.scaling.type is \"", type,
                       "\", supported: none, linear");
    return rope_scaling::None{};
  }

  static NameMap hugging_face_names() {
    return {.model = {{"embedding", "model.embed_tokens.weight"},
                      {"final_norm.gain", "model.norm.weight"},
                      {"head", "lm_head.weight"}},
            .layer = {{"mixer_norm.gain", "model.layers.{}.input_layernorm.weight"},
                      {"mixer.q", "model.layers.{}.self_attn.q_proj.weight"},
                      {"mixer.k", "model.layers.{}.self_attn.k_proj.weight"},
                      {"mixer.v", "model.layers.{}.self_attn.v_proj.weight"},
                      {"mixer.o", "model.layers.{}.self_attn.o_proj.weight"},
                      {"mixer.q_bias", "model.layers.{}.self_attn.q_proj.bias"},
                      {"mixer.k_bias", "model.layers.{}.self_attn.k_proj.bias"},
                      {"mixer.v_bias", "model.layers.{}.self_attn.v_proj.bias"},
                      {"mixer.o_bias", "model.layers.{}.self_attn.o_proj.bias"},
                      {"ffn_norm.gain", "model.layers.{}.post_attention_layernorm.weight"},
                      {"ffn.gate", "model.layers.{}.mlp.gate_proj.weight"},
                      {"ffn.up", "model.layers.{}.mlp.up_proj.weight"},
                      {"ffn.down", "model.layers.{}.mlp.down_proj.weight"},
                      {"ffn.gate_bias", "model.layers.{}.mlp.gate_proj.bias"},
                      {"ffn.up_bias", "model.layers.{}.mlp.up_proj.bias"},
                      {"ffn.down_bias", "model.layers.{}.mlp.down_proj.bias"}},
            .ignored = {"rotary_emb.inv_freq", "lm_head.weight"}};
  }
  static NameMap gguf_names() {
    return {.model = {{"embedding", "token_embd.weight"},
                      {"final_norm.gain", "output_norm.weight"},
                      {"head", "output.weight"}},
            .layer = {{"mixer_norm.gain", "blk.{}.attn_norm.weight"},
                      {"mixer.q", "blk.{}.attn_q.weight"},
                      {"mixer.k", "blk.{}.attn_k.weight"},
                      {"mixer.v", "blk.{}.attn_v.weight"},
                      {"mixer.o", "blk.{}.attn_output.weight"},
                      {"mixer.q_bias", "blk.{}.attn_q.bias"},
                      {"mixer.k_bias", "blk.{}.attn_k.bias"},
                      {"mixer.v_bias", "blk.{}.attn_v.bias"},
                      {"mixer.o_bias", "blk.{}.attn_output.bias"},
                      {"ffn_norm.gain", "blk.{}.ffn_norm.weight"},
                      {"ffn.gate", "blk.{}.ffn_gate.weight"},
                      {"ffn.up", "blk.{}.ffn_up.weight"},
                      {"ffn.down", "blk.{}.ffn_down.weight"}},
            .ignored = {"rope_freqs.weight"}};
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
