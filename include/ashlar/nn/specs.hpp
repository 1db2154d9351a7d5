// Specs: published blocks as short lists of types.
#pragma once

#include <ashlar/nn/ffn/glu.hpp>
#include <ashlar/nn/ffn/mlp.hpp>
#include <ashlar/nn/mixer/attention.hpp>
#include <ashlar/nn/norm/layer_norm.hpp>
#include <ashlar/nn/norm/rms_norm.hpp>
#include <ashlar/nn/position/learned.hpp>
#include <ashlar/nn/position/rope.hpp>
#include <ashlar/nn/residual/layer_scale.hpp>
#include <ashlar/nn/residual/plain.hpp>
#include <ashlar/nn/wiring/parallel.hpp>
#include <ashlar/nn/wiring/serial.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Llama (Touvron et al. 2023): RMSNorm before each sublayer, rotary positions, grouped heads,
/// SwiGLU.
struct LlamaSpec {
  using Norm = RmsNorm;
  using Mixer = Attention<Rope>;
  using Ffn = SwiGlu;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
  using InputPosition = NoPosition;
};

/// GPT-2 (Radford et al. 2019): LayerNorm before each sublayer, learned positions, GELU.
struct Gpt2Spec {
  using Norm = LayerNorm;
  using Mixer = Attention<NoPosition>;
  using Ffn = Mlp<act::GeluTanh>;
  using Residual = PlainResidual;
  using Wiring = PreNorm;
  using InputPosition = LearnedPosition;
};

/// PaLM (Chowdhery et al. 2022): both sublayers side by side after one LayerNorm (to be configured
/// without bias), rotary positions, one key head for all queries (n_kv_heads 1), SwiGLU.
struct PalmSpec : LlamaSpec {
  using Norm = LayerNorm;
  using Wiring = ParallelOneNorm;
};

/// The 2017 block with all nine swaps at once: pre-norm, RMSNorm, QK-norm, RoPE, grouped-query
/// attention, tiled attention, SwiGLU, LayerScale, and registers (a number of the model's config).
struct NineSwapsSpec : LlamaSpec {
  using Mixer = Attention<Rope, PerHeadNorm<RmsNorm>>;
  using Residual = LayerScale;
};

static_assert(BlockSpec<LlamaSpec> && BlockSpec<Gpt2Spec> && BlockSpec<PalmSpec> &&
              BlockSpec<NineSwapsSpec>);

}  // namespace ashlar::inline ASHLAR_ABI
