// What gpu_bench.py calls through ctypes: every function returns null, or what went wrong.
#pragma once

#include <ashlar/cuda.cuh>
#include <string>

namespace bench {

using ashlar::bfloat16, ashlar::index_t, ashlar::TensorView, ashlar::MatrixView;
using Gpu = ashlar::Context<ashlar::backend::CudaGpu>;

/// The error's text, until the next one.
template <class F>
const char* guarded(F f) {
  thread_local std::string text;
  try {
    f();
    return nullptr;
  } catch (const std::exception& e) {
    text = e.what();
    return text.c_str();
  }
}

inline const ashlar::cuda::Device& device() {
  static const ashlar::cuda::Device one = ashlar::cuda::device(0);
  return one;
}

/// Rows of heads without gaps: [batch, tokens, heads, width].
struct Rows {
  bfloat16* data;
  index_t batch, tokens, heads, width;

  operator TensorView<bfloat16, 4>() const { return {data, {batch, tokens, heads, width}}; }
  operator TensorView<const bfloat16, 4>() const { return {data, {batch, tokens, heads, width}}; }
};

}  // namespace bench
