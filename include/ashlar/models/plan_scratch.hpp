// plan_scratch: the temporary memory of a forward pass, found by a pass that computes nothing.
#pragma once

#include <ashlar/models/plan.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/ops/embedding.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace backend {
/// Takes memory as a real backend does and leaves it as it is. An op without a slot below runs its
/// scalar kernel, which takes longer and needs the same memory.
struct DryRun {
  using fallback = ScalarCpu;
  static constexpr std::string_view name = "dry run";
  static constexpr MemorySpace space = MemorySpace::host;
};
}  // namespace backend

template <>
class Context<backend::DryRun> : public HostContext {
 public:
  using HostContext::HostContext;
};

namespace kernels {
struct Nothing {
  template <class... Args>
  static void run(Args&&...) {}
};
template <>
struct LinearKernel<backend::DryRun> : Nothing {};
template <>
struct EmbeddingKernel<backend::DryRun> : Nothing {};
template <>
struct RmsNormKernel<backend::DryRun> : Nothing {};
template <>
struct LayerNormKernel<backend::DryRun> : Nothing {};
template <>
struct RopeKernel<backend::DryRun> : Nothing {};
template <>
struct ActivationKernel<backend::DryRun> : Nothing {};
template <>
struct GluKernel<backend::DryRun> : Nothing {};
template <>
struct ResidualAddKernel<backend::DryRun> : Nothing {};
template <>
struct AttentionKernel<backend::DryRun> : Nothing {};
template <>
struct AttentionDecodeKernel<backend::DryRun> : Nothing {};
}  // namespace kernels

namespace plan {

namespace detail {
/// Views with the right extents and no memory to speak of behind them.
template <class Lm>
void set_shapes(typename Lm::Weights& weights, const typename Lm::Config& config,
                std::vector<float>& zeros) {
  index_t longest = 1;
  for (const WeightShape& w : weight_shapes<Lm>(config))
    if (!w.matrix()) longest = max_index(longest, w.elements());
  zeros.assign(static_cast<std::size_t>(longest), 0.f);
  Lm::visit(weights, config,
            [&](std::string_view, auto& view, std::initializer_list<index_t> extents) {
              if constexpr (std::is_same_v<std::remove_reference_t<decltype(view)>, WeightMatrix>)
                view = WeightMatrix(zeros.data(), DType::f32, extents.begin()[0],
                                    extents.begin()[1], WeightLayout::rows);
              else
                view = VectorView<const float>(zeros.data(), {extents.begin()[0]});
            });
}
template <class Lm>
index_t dry_peak(const typename Lm::Config& config, const typename Lm::Weights& weights,
                 index_t tokens) {
  Context<backend::DryRun> ctx;
  typename Lm::State state(config, 1, tokens);
  const std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  std::vector<float> hidden(static_cast<std::size_t>(tokens * config.d_model));
  Lm::forward(ctx, config, weights, state, MatrixView<const std::int32_t>(ids.data(), {1, tokens}),
              MatrixView<float>(hidden.data(), {tokens, config.d_model}));
  return static_cast<index_t>(ctx.scratch().peak_bytes());
}
}  // namespace detail

/// Bytes of Scratch that Lm::forward takes for its own tensors when it runs `tokens` rows (batch x
/// tokens): the stream, a norm's output, q, k, v, the hidden rows. SIMD products take a copy of at
/// most 504 rows of their input besides. Two short dry passes give the line; right to the byte for
/// a multiple of 16 tokens, to some KiB for others.
template <class Lm>
index_t scratch_bytes(const typename Lm::Config& config, index_t tokens) {
  typename Lm::Weights weights;
  std::vector<float> zeros;
  detail::set_shapes<Lm>(weights, config, zeros);
  const index_t limit = config.context_length ? config.context_length : 128;
  const index_t longer = max_index(2, min_index(limit, 128)), shorter = longer / 2;
  const index_t first = detail::dry_peak<Lm>(config, weights, shorter);
  const index_t second = detail::dry_peak<Lm>(config, weights, longer);
  return first + (second - first) * (tokens - shorter) / (longer - shorter);
}

}  // namespace plan
}  // namespace ashlar::inline ASHLAR_ABI
