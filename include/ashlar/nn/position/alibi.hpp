// AlibiBias and FalconAlibi: ALiBi as scores that hold the slopes of a layer's heads.
#pragma once

#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/scaled_alibi.hpp>
#include <ashlar/core/shared_list.hpp>
#include <ashlar/nn/mixer/score_slot.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace detail {
inline void expect_slopes(std::string_view who, const SharedList<float>& slopes, const Dims& d) {
  if (static_cast<index_t>(slopes.size()) != d.n_heads)
    fail<ShapeError>(who, ": ", slopes.size(), " slopes, expected ", d.n_heads, ", one a head");
}
}  // namespace detail

/// scale (q . k) + slope[h] (k - q). Source: Press et al. 2022; BLOOM and MPT differ in the slopes.
/// Throws   ShapeError unless there is a slope for every query head
struct AlibiBias {
  struct Config {
    SharedList<float> slopes{};  // alibi_slopes(heads, order)
  };
  struct Weights {};
  static void visit(Weights&, const Config& c, const Dims& d, auto&&) {
    detail::expect_slopes("AlibiBias", c.slopes, d);
  }
  static Alibi make(const Config& c, const Weights&) {
    return Alibi({c.slopes.data(), {static_cast<index_t>(c.slopes.size())}});
  }
};
static_assert(ScoreMaker<AlibiBias>);

/// scale (q . k + slope[h] k) in Falcon's roundings. The mixer's own scale is to be 1.
/// Source: Falcon-RW (2023).
/// Throws   ShapeError unless there is a slope for every query head
struct FalconAlibi {
  struct Config {
    SharedList<float> slopes{};
    float scale = 1.f;
  };
  struct Weights {};
  static void visit(Weights&, const Config& c, const Dims& d, auto&&) {
    detail::expect_slopes("FalconAlibi", c.slopes, d);
  }
  static ScaledAlibi make(const Config& c, const Weights&) {
    return ScaledAlibi({c.slopes.data(), {static_cast<index_t>(c.slopes.size())}}, c.scale);
  }
};
static_assert(ScoreMaker<FalconAlibi>);

}  // namespace ashlar::inline ASHLAR_ABI
