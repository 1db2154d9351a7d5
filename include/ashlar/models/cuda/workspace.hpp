// How much workspace a decoder on a device needs.
#pragma once

#include <ashlar/core/types.hpp>
#include <ashlar/cuda/attention_arguments.hpp>
#include <ashlar/cuda/linear_launch.hpp>
#include <ashlar/nn/dims.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Bytes of workspace, enough for calls of up to `rows` tokens in all with a DecoderState of
/// `batch` sequences and `capacity` tokens, and their head: the activations of a layer, and the
/// larger of a slice of unpacked weights beside cuBLASLt's share and the splits of decoding.
template <class T, class Config>
index_t decoder_workspace_bytes(const Config& config, index_t batch, index_t capacity,
                                index_t rows) {
  constexpr index_t size = sizeof(T), decode_tokens = 4, product_bytes = index_t{32} << 20;
  index_t layer = 0, splits = 0, matrix = config.d_model * config.vocabulary;
  for (const auto& l : config.layers) {
    const Dims& d = l.dims;
    const index_t values = d.n_heads * d.values();
    layer = max_index(layer, d.n_heads * d.head_dim + 2 * values +
                                 d.n_kv_heads * (d.head_dim + d.values()) + 3 * d.d_ff);
    splits = max_index(splits, batch * decode_tokens * d.n_heads * (4 * d.values() + 8) *
                                   ceil_div(capacity, decode_split_keys));
    matrix = max_index(matrix, d.d_model * max_index(d.d_ff, values));
  }
  const index_t slice =
      rows > kernels::LinearKernel<backend::CudaGpu>::most_own_rows
          ? min_index(matrix * size, kernels::LinearKernel<backend::CudaGpu>::slice_bytes) +
                product_bytes
          : 0;
  constexpr index_t pieces = 32, alignment = 256;  // what is rounded up
  return rows * (4 * config.d_model + layer) * size + max_index(splits, slice) + pieces * alignment;
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
