// What the metadata of most GGUF decoders says in the same words, under the architecture's name.
#pragma once

#include <ashlar/nn/dims.hpp>
#include <ashlar/ops/rope_scaling.hpp>
#include <ashlar/weights/gguf.hpp>
#include <ashlar/weights/name_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Reads "<architecture>.<key>". Throws FileError for what is missing, ValueError for what is not
/// possible.
class GgufReader {
 public:
  explicit GgufReader(const GgufFile& file)
      : file_(file), prefix_(std::string(file.string("general.architecture")) + ".") {}

  const GgufFile& file() const { return file_; }
  bool has(std::string_view key) const { return file_.find_key(name(key)) != nullptr; }
  std::string name(std::string_view key) const { return prefix_ + std::string(key); }

  /// An integer of at least 1.
  index_t size(std::string_view key, index_t fallback = -1, index_t high = index_t{1} << 31) const {
    const index_t n = fallback < 0 ? file_.integer(name(key)) : file_.integer(name(key), fallback);
    if (n < 1 || n > high)
      fail<ValueError>(file_.path(), ": ", name(key), " is ", n, ", expected 1 to ", high);
    return n;
  }
  /// A finite number above 0.
  double positive(std::string_view key) const {
    const double x = file_.number(name(key));
    if (!(x > 0) || !std::isfinite(x))
      fail<ValueError>(file_.path(), ": ", name(key), " is ", x,
                       ", expected a finite number above 0");
    return x;
  }
  double positive(std::string_view key, double fallback) const {
    return has(key) ? positive(key) : fallback;
  }

  Dims dims() const {
    Dims d;
    d.d_model = size("embedding_length");
    d.n_heads = size("attention.head_count");
    d.n_kv_heads = size("attention.head_count_kv", d.n_heads);
    d.head_dim =
        size("attention.key_length", max_index(d.d_model / d.n_heads, 1), index_t{1} << 16);
    d.value_dim = size("attention.value_length", d.head_dim);
    d.d_ff = size("feed_forward_length");
    if (d.n_heads % d.n_kv_heads != 0)
      fail<ValueError>(file_.path(), ": ", name("attention.head_count_kv"), " is ", d.n_kv_heads,
                       ", expected a divisor of ", name("attention.head_count"), " ", d.n_heads);
    return d;
  }
  RopeRule rope_rule(index_t head_dim, double theta = 10000.0) const {
    RopeRule rule{.theta = positive("rope.freq_base", theta),
                  .width = size("rope.dimension_count", head_dim)};
    if (rule.width % 2 != 0 || rule.width > head_dim)
      fail<ValueError>(file_.path(), ": ", name("rope.dimension_count"), " is ", rule.width,
                       ", expected an even number of at most the head's ", head_dim);
    rule.scaling = scaling(rule.width / 2);
    return rule;
  }
  /// Fills what all models have, with `layer` for every layer.
  template <class Config, class Layer>
  void fill_model(Config& c, const Layer& layer) const {
    const TensorInfo& table = file_.at("token_embd.weight");
    c.vocabulary = size("vocab_size", table.shape.empty() ? 1 : table.shape[0]);
    c.d_model = layer.dims.d_model;
    c.context_length = size("context_length");
    c.tied_head = file_.find("output.weight") == nullptr;
    c.final_norm = layer.norm;
    c.layers.assign(static_cast<std::size_t>(size("block_count", -1, 10'000)), layer);
  }

 private:
  RopeScaling scaling(index_t pairs) const {
    if (const TensorInfo* divisors = file_.find("rope_freqs.weight")) {
      if (divisors->elements() != pairs)
        fail<FileError>(file_.path(), ": rope_freqs.weight has ", divisors->elements(),
                        " elements, expected ", pairs, ", one a rotated pair");
      std::vector<float> values(static_cast<std::size_t>(pairs));
      read_f32(*divisors, values, file_.path());
      for (const float x : values)
        if (!(x > 0) || !std::isfinite(x))
          fail<ValueError>(file_.path(), ": rope_freqs.weight holds ", x,
                           ", expected finite numbers above 0");
      return rope_scaling::Divisors{std::vector<double>(values.begin(), values.end())};
    }
    const auto type = file_.string(name("rope.scaling.type"), "none");
    if (type == "linear") return rope_scaling::Linear{positive("rope.scaling.factor")};
    if (type != "none")
      fail<ValueError>(file_.path(), ": ", name("rope.scaling.type"), " is ", detail::quote(type),
                       ", supported: none, linear");
    return {};
  }

  const GgufFile& file_;
  std::string prefix_;
};

/// The tensor names of GGUF decoders.
inline NameMap gguf_names() {
  static constexpr NamePair model[] = {{"embedding", "token_embd.weight"},
                                       {"position.table", "position_embd.weight"},
                                       {"head", "output.weight"}};
  static constexpr NamePair final_norm[] = {{"final_norm", "output_norm"}};
  static constexpr NamePair norms[] = {{"mixer_norm", "attn_norm"},
                                       {"ffn_norm", "ffn_norm"},
                                       {"mixer_branch_norm", "post_attention_norm"},
                                       {"ffn_branch_norm", "post_ffw_norm"},
                                       {"mixer.q_norm", "attn_q_norm"},
                                       {"mixer.k_norm", "attn_k_norm"}};
  static constexpr NamePair products[] = {{"mixer.q", "attn_q"},    {"mixer.k", "attn_k"},
                                          {"mixer.v", "attn_v"},    {"mixer.o", "attn_output"},
                                          {"ffn.gate", "ffn_gate"}, {"ffn.up", "ffn_up"},
                                          {"ffn.down", "ffn_down"}};
  NameMap map;
  add_rules(map.model, model, "", "", "");
  add_norms(map.model, final_norm);
  add_norms(map.layer, norms, "blk.{}.");
  add_products(map.layer, products, "blk.{}.");
  map.ignored = {"rope_freqs.weight"};
  return map;
}

}  // namespace ashlar::inline ASHLAR_ABI
