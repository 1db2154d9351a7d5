// GPT-2, from Hugging Face folders.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/weights/name_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Source: Radford et al. 2019. Matrices are stored [in, out], q, k and v side by side.
struct Gpt2Family {
  using Spec = Gpt2Spec;
  using Lm = CausalLm<Spec>;
  static constexpr std::string_view name = "gpt2";

  static Lm::Config config(const Checkpoint& checkpoint) {
    if (checkpoint.gguf())
      fail<ValueError>(checkpoint.path(), ": GPT-2 is read from folders with config.json only");
    const ConfigReader& j = *checkpoint.config();
    if (const auto act = j.string("activation_function", "gelu_new");
        act != "gelu_new" && act != "gelu_pytorch_tanh")
      j.refuse("activation_function", act, "gelu_new, gelu_pytorch_tanh");
    if (j.boolean("add_cross_attention", false)) j.refuse("add_cross_attention", "true", "false");

    Lm::Block::Config layer;
    Dims& d = layer.dims;
    d.d_model = j.size("n_embd", 768);
    d.n_heads = d.n_kv_heads = j.size("n_head", 12);
    if (d.d_model % d.n_heads != 0)
      fail<ValueError>(j.what("n_embd"), " is ", d.d_model, ", expected a multiple of n_head ",
                       d.n_heads);
    d.head_dim = d.d_model / d.n_heads;
    d.d_ff = j.size("n_inner", 4 * d.d_model);
    layer.norm.eps = static_cast<float>(j.positive("layer_norm_epsilon", 1e-5));
    layer.mixer.bias = {true, true, true, true};

    Lm::Config c;
    c.vocabulary = j.size("vocab_size", 50257);
    c.d_model = d.d_model;
    c.context_length = c.position.positions = j.size("n_positions", 1024);
    c.tied_head = j.boolean("tie_word_embeddings", true);
    c.final_norm = layer.norm;
    c.layers.assign(static_cast<std::size_t>(j.size("n_layer", 12, 1, 10'000)), layer);
    const double head =
        j.boolean("scale_attn_weights", true) ? static_cast<double>(d.head_dim) : 1.0;
    const bool by_layer = j.boolean("scale_attn_by_inverse_layer_idx", false);
    for (std::size_t i = 0; i < c.layers.size(); ++i)
      c.layers[i].mixer.scale =
          static_cast<float>(1.0 / std::sqrt(head) / (by_layer ? static_cast<double>(i + 1) : 1.0));
    return c;
  }

  /// Published files leave out the prefix "transformer." that newer ones have.
  static NameMap names(const Checkpoint& checkpoint, const Lm::Config& c) {
    const bool bare = checkpoint.tensors().find("wte.weight") != nullptr;
    const index_t D = c.d_model;
    const auto in_out = [](const char* weight, const char* stored, index_t row = 0,
                           index_t rows = 0) {
      return NameRule{weight, stored, {row, rows, true}};
    };
    NameMap map{.model = {{"embedding", "transformer.wte.weight"},
                          {"position.table", "transformer.wpe.weight"},
                          {"final_norm.gain", "transformer.ln_f.weight"},
                          {"final_norm.bias", "transformer.ln_f.bias"},
                          {"head", "lm_head.weight"}},
                .layer = {{"mixer_norm.gain", "transformer.h.{}.ln_1.weight"},
                          {"mixer_norm.bias", "transformer.h.{}.ln_1.bias"},
                          in_out("mixer.q", "transformer.h.{}.attn.c_attn.weight", 0, 3 * D),
                          in_out("mixer.k", "transformer.h.{}.attn.c_attn.weight", D, 3 * D),
                          in_out("mixer.v", "transformer.h.{}.attn.c_attn.weight", 2 * D, 3 * D),
                          in_out("mixer.o", "transformer.h.{}.attn.c_proj.weight"),
                          {"mixer.q_bias", "transformer.h.{}.attn.c_attn.bias", {0, 3 * D}},
                          {"mixer.k_bias", "transformer.h.{}.attn.c_attn.bias", {D, 3 * D}},
                          {"mixer.v_bias", "transformer.h.{}.attn.c_attn.bias", {2 * D, 3 * D}},
                          {"mixer.o_bias", "transformer.h.{}.attn.c_proj.bias"},
                          {"ffn_norm.gain", "transformer.h.{}.ln_2.weight"},
                          {"ffn_norm.bias", "transformer.h.{}.ln_2.bias"},
                          in_out("ffn.up", "transformer.h.{}.mlp.c_fc.weight"),
                          in_out("ffn.down", "transformer.h.{}.mlp.c_proj.weight"),
                          {"ffn.up_bias", "transformer.h.{}.mlp.c_fc.bias"},
                          {"ffn.down_bias", "transformer.h.{}.mlp.c_proj.bias"}},
                .ignored = {".attn.bias", ".attn.masked_bias", "lm_head.weight"}};
    if (bare) map.replace_prefix("transformer.", "");
    return map;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
