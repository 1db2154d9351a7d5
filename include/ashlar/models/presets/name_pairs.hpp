// NamePairs: name rules two at a time, as checkpoints have them: NAME.weight and NAME.bias.
#pragma once

#include <ashlar/weights/name_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Collects the rules of a family. Weights of layers are named in full, "layers.{}.mixer.q".
class NamePairs {
 public:
  /// `prefix` goes before every stored name.
  explicit NamePairs(std::string prefix = "") : prefix_(std::move(prefix)) {}

  /// Our "x" and "x_bias".
  NamePairs& linear(const std::string& weight, const std::string& stored, StoredAs as = {}) {
    one(weight, stored + ".weight", as);
    as.reshaped = false;
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
  /// A stored name's ending that nobody needs.
  NamePairs& ignore(const std::string& ending) {
    map_.ignored.push_back(ending);
    return *this;
  }
  const NameMap& map() const { return map_; }

 private:
  std::string prefix_;
  NameMap map_;
};

}  // namespace ashlar::inline ASHLAR_ABI
