// ScoreSlot: what attention does to a score, as a plain functor or as a policy with numbers and
// weights of its own.
#pragma once

#include <ashlar/attention/score/none.hpp>
#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// A score functor that must be made from a config and weights, which outlive it: ALiBi's slopes,
/// T5's table.
template <class P>
concept ScoreMaker = requires(const typename P::Config& config, typename P::Weights& weights,
                              const Dims& dims) {
  P::visit(weights, config, dims, detail::AnyVisitor{});
  requires ScorePolicy<std::remove_cvref_t<decltype(P::make(config, weights))>>;
};

/// What attention takes as its score.
template <class S>
concept ScoreChoice = ScorePolicy<S> || ScoreMaker<S>;

/// Either kind as a ScoreMaker.
template <class S>
struct ScoreSlot;
template <ScorePolicy S>
struct ScoreSlot<S> {
  using Config = S;
  struct Weights {};
  static void visit(Weights&, const Config&, const Dims&, auto&&) {}
  static S make(const Config& c, const Weights&) { return c; }
};
template <ScoreMaker S>
struct ScoreSlot<S> : S {};

}  // namespace ashlar::inline ASHLAR_ABI
