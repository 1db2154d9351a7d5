// NamePairs: name rules two at a time, as checkpoints have them: NAME.weight and NAME.bias.
#pragma once

#include <ashlar/nn/dims.hpp>
#include <ashlar/weights/name_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Collects the rules of a family. Weights of layers are named in full, "layers.{}.mixer.q", or
/// without "layers.{}." for layer_map().
class NamePairs {
 public:
  /// `prefix` goes before every stored name.
  explicit NamePairs(std::string prefix = "") : prefix_(std::move(prefix)) {}

  /// Our "x" and "x_bias".
  NamePairs& linear(const std::string& weight, const std::string& stored, StoredAs as = {}) {
    one(weight, stored + ".weight", as);
    as.reshaped = false;
    as.shape.clear();
    return one(weight + "_bias", stored + ".bias", as);
  }
  /// Our "x.gain" and "x.bias".
  NamePairs& norm(const std::string& weight, const std::string& stored) {
    one(weight + ".gain", stored + ".weight");
    return one(weight + ".bias", stored + ".bias");
  }
  /// Our "x.weight" and "x.bias".
  NamePairs& head(const std::string& weight, const std::string& stored) {
    one(weight + ".weight", stored + ".weight");
    return one(weight + ".bias", stored + ".bias");
  }
  NamePairs& one(const std::string& weight, const std::string& stored, StoredAs as = {}) {
    map_.model.push_back({weight, prefix_ + stored, as});
    return *this;
  }
  /// Our mixer.q, .k, .v and their biases from one tensor and its bias: all q, all k, all v.
  NamePairs& fused_qkv(const std::string& stored, const Dims& d) {
    const index_t q = d.n_heads * d.head_dim, k = d.n_kv_heads * d.head_dim,
                  all = q + k + d.n_kv_heads * d.values();
    linear("mixer.q", stored, {.first_row = 0, .total_rows = all});
    linear("mixer.k", stored, {.first_row = q, .total_rows = all});
    return linear("mixer.v", stored, {.first_row = q + k, .total_rows = all});
  }
  /// The same where each group has its queries, its k and its v: with as many groups as heads q, k
  /// and v head by head, with one group all q, k, v.
  NamePairs& grouped_qkv(const std::string& stored, const Dims& d) {
    const index_t H = d.head_dim, q = d.n_heads / d.n_kv_heads * H;
    linear("mixer.q", stored, {.first_row = 0, .block = q, .period = q + 2 * H});
    linear("mixer.k", stored, {.first_row = q, .block = H, .period = q + 2 * H});
    return linear("mixer.v", stored, {.first_row = q + H, .block = H, .period = q + 2 * H});
  }
  /// A stored name's ending that nobody needs.
  NamePairs& ignore(const std::string& ending) {
    map_.ignored.push_back(ending);
    return *this;
  }
  const NameMap& map() const { return map_; }
  /// The same rules as those of every layer.
  NameMap layer_map() const { return {.layer = map_.model, .ignored = map_.ignored}; }

 private:
  std::string prefix_;
  NameMap map_;
};

}  // namespace ashlar::inline ASHLAR_ABI
