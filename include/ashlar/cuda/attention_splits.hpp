// What the splits of a decoding problem leave for the kernel that merges them.
#pragma once

#include <ashlar/cuda/attention_problem.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Where splits leave what they found, on the device: for query row r = (b N + head) T + t and
/// split i, `out` [rows, splits, Hv] in f32, not divided by the sum, and `state` [rows, splits].
struct SplitResults {
  float* out = nullptr;
  SoftmaxState<float>* state = nullptr;
  index_t splits = 1;  // room for a row; those that have keys are written
  index_t split_keys =
      0;  // keys of a split: fixed, so that a row's bits depend on its own keys only

  ASHLAR_HD index_t used(index_t keys) const { return ceil_div(keys, split_keys); }
};

template <class Problem>
struct DecodeArguments {
  Problem problem;
  SplitResults results;

  ASHLAR_HD index_t result(index_t b, index_t head, index_t t, index_t split) const {
    const index_t row = (b * problem.heads() + head) * problem.most_queries + t;
    return row * results.splits + split;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
