// What a model takes from a spec beside its block: parts that most specs leave out.
#pragma once

#include <ashlar/nn/norm/none.hpp>
#include <ashlar/nn/policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// An input of every layer that is made from the tokens and the embeddings, beside the stream.
/// `apply` fills out [B rows, layers * width] from tokens [B, T] and the stream x [B rows, D] that
/// enters the first layer; in every sequence `registers` rows stand in front of its tokens.
struct NoSideInput {
  struct Config {};
  struct Weights {};
  static void visit(Weights&, const Config&, index_t /*d_model*/, auto&&) {}
  static constexpr index_t width(const Config&) { return 0; }
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config&, const Weights&, MatrixView<const std::int32_t>,
                    index_t, MatrixView<T>, MatrixView<T>) {}
};

namespace detail {
template <class S>
struct EmbeddingNormOf : std::type_identity<NoNorm> {};
template <class S>
requires requires { typename S::EmbeddingNorm; }
struct EmbeddingNormOf<S> : std::type_identity<typename S::EmbeddingNorm> {};

template <class S>
struct FinalNormOf : std::type_identity<typename S::Norm> {};
template <class S>
requires requires { typename S::FinalNorm; }
struct FinalNormOf<S> : std::type_identity<typename S::FinalNorm> {};

template <class S>
struct SideInputOf : std::type_identity<NoSideInput> {};
template <class S>
requires requires { typename S::SideInput; }
struct SideInputOf<S> : std::type_identity<typename S::SideInput> {};
}  // namespace detail

/// A norm of the embeddings: S::EmbeddingNorm, or none. Source: BLOOM (2022).
template <class S>
using EmbeddingNormOf = typename detail::EmbeddingNormOf<S>::type;
/// S::FinalNorm, or the block's norm.
template <class S>
using FinalNormOf = typename detail::FinalNormOf<S>::type;
/// S::SideInput, or none.
template <class S>
using SideInputOf = typename detail::SideInputOf<S>::type;

}  // namespace ashlar::inline ASHLAR_ABI
