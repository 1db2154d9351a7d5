// The shapes that policies have. Each kind is one concept, shallow on purpose: a policy that lacks
// something is named with what it lacks.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/nn/dims.hpp>
#include <ashlar/nn/token_batch.hpp>
#include <ashlar/weights/visitor.hpp>
#include <ashlar/weights/weight_matrix.hpp>
#include <initializer_list>

namespace ashlar::inline ASHLAR_ABI {

namespace detail {
/// Stands for any visitor of weights: f(name, view, extents).
struct AnyVisitor {
  template <class View>
  void operator()(std::string_view, View&, std::initializer_list<index_t>) const {}
};
using ProbeContext = Context<backend::ScalarCpu>;
}  // namespace detail

/// Rows in, rows out. `visit` names every weight once: name, view, extents.
template <class P>
concept NormPolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                              typename P::Weights& weights, index_t width,
                              MatrixView<const float> x, MatrixView<float> y) {
  P::visit(weights, config, width, detail::AnyVisitor{});
  P::apply(ctx, config, weights, x, y);
};

/// Changes queries or keys [M, heads, H] in place according to the rows' positions.
template <class P>
concept PositionPolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                                  const TokenBatch& batch, TensorView<float, 3> x) {
  P::apply(ctx, config, batch, x);
};

/// Changes the embeddings [M, D] in place according to the rows' positions.
template <class P>
concept InputPositionPolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                                       typename P::Weights& weights, const TokenBatch& batch,
                                       index_t width, MatrixView<float> x) {
  P::visit(weights, config, width, detail::AnyVisitor{});
  P::apply(ctx, config, weights, batch, x);
};

/// A sublayer without memory: [M, D] to [M, D].
template <class P>
concept FfnPolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                             typename P::Weights& weights, const Dims& dims,
                             MatrixView<const float> x, MatrixView<float> y) {
  P::visit(weights, config, dims, detail::AnyVisitor{});
  P::apply(ctx, config, weights, dims, x, y);
};

/// A sublayer that looks at other tokens: attention, or anything with a State that carries what it
/// needs of earlier tokens. A null state means that the rows are all there is.
template <class P>
concept MixerPolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                               typename P::Weights& weights, const Dims& dims,
                               const TokenBatch& batch, typename P::State* state, index_t n,
                               MatrixView<const float> x, MatrixView<float> y) {
  P::visit(weights, config, dims, detail::AnyVisitor{});
  { P::make_state(config, dims, n, n) } -> std::same_as<typename P::State>;
  P::apply(ctx, config, weights, dims, batch, state, x, y);
};

/// Adds a branch to the stream.
template <class P>
concept ResidualPolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                                  typename P::Weights& weights, index_t width,
                                  MatrixView<const float> branch, MatrixView<float> x) {
  P::visit(weights, config, width, detail::AnyVisitor{});
  P::apply(ctx, config, weights, branch, x);
};

/// What a block does to its output [M, D] last, with the layer's own input beside the stream, if
/// the model has one.
template <class P>
concept EpiloguePolicy = requires(detail::ProbeContext& ctx, const typename P::Config& config,
                                  typename P::Weights& weights, const Dims& dims,
                                  MatrixView<const float> side, MatrixView<float> x) {
  P::visit(weights, config, dims, detail::AnyVisitor{});
  P::apply(ctx, config, weights, dims, side, x);
};
struct NoEpilogue {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, const Dims&, auto&&) {}
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, const Dims&, MatrixView<const T>,
                    MatrixView<T>) {}
};

namespace detail {
template <class S>
struct EpilogueOf : std::type_identity<NoEpilogue> {};
template <class S>
requires requires { typename S::Epilogue; }
struct EpilogueOf<S> : std::type_identity<typename S::Epilogue> {};
}  // namespace detail
/// S::Epilogue, or none.
template <class S>
using EpilogueOf = typename detail::EpilogueOf<S>::type;

/// The choices that make a block: kinds are types, numbers are in the configs. A spec may also name
/// an Epilogue.
template <class S>
concept BlockSpec =
    NormPolicy<typename S::Norm> && MixerPolicy<typename S::Mixer> && FfnPolicy<typename S::Ffn> &&
    ResidualPolicy<typename S::Residual> && EpiloguePolicy<EpilogueOf<S>> && requires {
  typename S::Wiring::template Block<S>;
};

}  // namespace ashlar::inline ASHLAR_ABI
