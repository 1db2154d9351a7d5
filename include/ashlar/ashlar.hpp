// The core of ashlar in one include: ops, blocks, models and the scalar backend. No third-party
// header.
//
// Backends are headers of their own: ashlar/simd.hpp (xsimd), ashlar/eigen.hpp (Eigen), and
// ashlar/openmp.hpp for threads. Checkpoints are in ashlar/models/load.hpp.
#pragma once

#include <ashlar/attention/mask/bitmap_mask.hpp>
#include <ashlar/attention/mask/block_mask.hpp>
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/local_window.hpp>
#include <ashlar/attention/mask/none.hpp>
#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/none.hpp>
#include <ashlar/attention/score/scaled_alibi.hpp>
#include <ashlar/attention/score/sequence.hpp>
#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/attention/score/t5_bias.hpp>
#include <ashlar/models/causal_lm.hpp>
#include <ashlar/nn/position/sinusoidal.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/attention.hpp>
#include <ashlar/ops/attention_decode.hpp>
#include <ashlar/ops/attention_naive.hpp>
#include <ashlar/ops/embedding.hpp>
#include <ashlar/ops/layer_norm.hpp>
#include <ashlar/ops/linear.hpp>
#include <ashlar/ops/map.hpp>
#include <ashlar/ops/residual_add.hpp>
#include <ashlar/ops/rms_norm.hpp>
#include <ashlar/ops/rope.hpp>
#include <ashlar/ops/softmax.hpp>
#include <ashlar/version.hpp>
