// sample: the next token of each sequence, drawn on the device.
#pragma once

#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/sample_rows.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Throws ValueError for an option outside its range.
inline void check_sample_options(const SampleOptions& o) {
  if (!(o.temperature >= 0.f) || !std::isfinite(o.temperature))
    fail<ValueError>("sample: temperature is ", o.temperature, ", expected a finite number >= 0");
  if (!(o.top_p > 0.f && o.top_p <= 1.f))
    fail<ValueError>("sample: top_p is ", o.top_p, ", expected a number in (0, 1]");
  if (!(o.min_p >= 0.f && o.min_p <= 1.f))
    fail<ValueError>("sample: min_p is ", o.min_p, ", expected a number in [0, 1]");
  if (o.top_k < 0) fail<ValueError>("sample: top_k is ", o.top_k, ", expected 0 or more");
}

/// Enqueues the choice of a token from each row of logits, by the options of its row: argmax,
/// top-k, top-p, min-p. The random number is number steps[m] of the row's seed, so equal inputs
/// give equal tokens. Where no logit is above -inf the token is -1. Options are checked by whoever
/// copies them to the device: check_sample_options.
///
/// Shapes   logits [M, V], options, steps and tokens [M], all on the device
/// Throws   ShapeError, CudaError
template <Element T>
void sample(Context<backend::CudaGpu>& ctx, MatrixView<const T> logits,
            VectorView<const SampleOptions> options, VectorView<const std::uint64_t> steps,
            VectorView<std::int32_t> tokens) {
  const index_t M = logits.extent(0);
  if (logits.extent(1) < 1 || logits.extent(1) > (index_t{1} << 31) - 1)
    fail<ShapeError>("sample: rows of ", logits.extent(1), " logits");
  expect_shape("sample", "options", options, {M});
  expect_shape("sample", "steps", steps, {M});
  expect_shape("sample", "tokens", tokens, {M});
  launch<SampleRows<T, 16>>(ctx, "sample", {logits, options, steps, tokens});
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
