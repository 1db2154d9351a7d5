// Which problems the attention kernel of sm_90a takes. Host code without CUDA.
#pragma once

#include <ashlar/cuda/attention_forward_sm90.hpp>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Whether keys and values are rows of tensors of the queries' type, of 16 bits.
template <class Problem>
inline constexpr bool has_plain_rows =
    sizeof(typename Problem::T) == 2 &&
    std::is_same_v<typename Problem::Source, KeyRows<typename Problem::T>>;

/// Why the kernel of sm_90a does not take a problem of tensor cores; empty when it does.
template <class Problem>
std::string_view why_not_sm90a(const Problem& p, int architecture) {
  if (architecture != 90) return "the device is not sm_90";
  if constexpr (!has_plain_rows<Problem>) {
    return "keys and values are pages or quantised, which TMA does not copy";
  } else {
    using T = typename Problem::T;
    if (p.kv.rows.starts || p.queries.starts) return "sequences are packed";
    const auto can_be_mapped_of = [](const TensorView<const T, 4>& x) {
      return can_be_mapped(tensor_boxes<T>(x, 64));
    };
    if (!can_be_mapped_of(p.q) || !can_be_mapped_of(p.kv.k) || !can_be_mapped_of(p.kv.v))
      return "q, k or v is empty or has strides that TMA does not take";
    // Every tile of queries has a number of 32 bits; in tiles of 128, the smallest.
    if (ceil_div(p.most_queries, 128) >= (index_t{1} << 31) / (p.q.extent(0) * p.heads()))
      return "there are 2^31 tiles of queries or more";
    return "";
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
