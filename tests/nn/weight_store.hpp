// Random weights for whatever a visit names, and the same numbers for the oracle.
#pragma once

#include <ashlar/nn/block.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "oracle/block.hpp"
#include "support/random.hpp"

namespace nn_test {

using ashlar::index_t;
using Floats = std::vector<float>;

/// A visitor of weights: fills every view with numbers of its own and keeps them by name.
class WeightStore {
 public:
  explicit WeightStore(std::uint64_t salt) : random_(salt) {}

  template <class View>
  void operator()(std::string_view name, View& view, std::initializer_list<index_t> extents) {
    Floats& x = values_[std::string(name)];
    if constexpr (std::is_same_v<View, ashlar::WeightMatrix>) {
      const index_t rows = extents.begin()[0], columns = extents.begin()[1];
      x = random_.normals<float>(rows * columns, 1 / std::sqrt(static_cast<double>(columns)));
      view = ashlar::MatrixView<const float>(x.data(), {rows, columns});
    } else {
      const bool bias = name.ends_with("bias");
      x = random_.normals<float>(extents.begin()[0], 0.25, bias ? 0 : 0.75);
      view = {x.data(), {extents.begin()[0]}};
    }
  }

  const std::map<std::string, Floats>& values() const { return values_; }
  Floats& at(const std::string& name) { return values_.at(name); }

  /// Empty where there is no such weight.
  oracle::Vec doubles(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? oracle::Vec()
                                  : oracle::Vec(found->second.begin(), found->second.end());
  }
  oracle::Norm norm(const std::string& name) const {
    return {doubles(name + ".gain"), doubles(name + ".bias")};
  }
  oracle::Matrix matrix(const std::string& name) const {
    return {doubles(name), doubles(name + "_bias")};
  }
  /// The weights of a block whose names begin with `prefix`.
  oracle::BlockWeights block(const std::string& prefix = "") const {
    oracle::BlockWeights w;
    w.attention_norm = norm(prefix + "mixer_norm");
    w.ffn_norm = norm(prefix + "ffn_norm");
    w.q_norm = norm(prefix + "mixer.q_norm");
    w.k_norm = norm(prefix + "mixer.k_norm");
    w.q = matrix(prefix + "mixer.q");
    w.k = matrix(prefix + "mixer.k");
    w.v = matrix(prefix + "mixer.v");
    w.o = matrix(prefix + "mixer.o");
    w.gate = matrix(prefix + "ffn.gate");
    w.up = matrix(prefix + "ffn.up");
    w.down = matrix(prefix + "ffn.down");
    w.attention_scale = doubles(prefix + "mixer_residual.scale");
    w.ffn_scale = doubles(prefix + "ffn_residual.scale");
    return w;
  }

 private:
  support::Random random_;
  std::map<std::string, Floats> values_;
};

}  // namespace nn_test
