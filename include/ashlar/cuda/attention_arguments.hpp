// From views and options to the arguments of the attention kernels: checks, and the choice of a
// kernel. Host code without CUDA.
#pragma once

#include <ashlar/cuda/attention_combine.hpp>
#include <ashlar/cuda/attention_decode.hpp>
#include <ashlar/cuda/attention_fallback.hpp>
#include <ashlar/cuda/attention_forward.hpp>
#include <ashlar/cuda/attention_sm90_route.hpp>
#include <ashlar/cuda/attention_tf32.hpp>
#include <ashlar/cuda/cache_checks.hpp>
#include <ashlar/ops/attention_checks.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Keys of a split in decoding, of every batch and length alike.
inline constexpr index_t decode_split_keys = 512;

/// Which kernel takes a problem, and why it is no better one; `reason` is empty on tensor cores.
/// Forward problems are the kernel of sm_90a's where `no_sm90a` is empty too, if the program holds
/// it (is_compiled).
struct AttentionRoute {
  bool tensor_cores = false;
  std::string_view reason;
  std::string_view no_sm90a = {};
};

namespace detail {
/// Rows begin at multiples of some bytes.
template <class T>
bool is_aligned(const TensorView<const T, 4>& x, index_t bytes = 16) {
  bool aligned = reinterpret_cast<std::uintptr_t>(x.data()) % static_cast<std::size_t>(bytes) == 0;
  for (int r = 0; r < 3; ++r)
    aligned = aligned && (x.extent(r) == 1 || x.stride(r) * index_t{sizeof(T)} % bytes == 0);
  return aligned;
}
inline bool is_aligned(const Q8Tensor& x) { return is_aligned(x.codes) && is_aligned(x.scales, 4); }
}  // namespace detail

/// Whether keys and values are decoded before they are multiplied.
template <class Problem>
inline constexpr bool is_quantised = std::is_same_v<typename Problem::Source::element_type, Q8_0>;

/// Whether tensor-core kernels take this problem on this device.
template <class Problem>
AttentionRoute attention_route(const Problem& p, int architecture) {
  using T = typename Problem::T;
  const index_t H = p.q.extent(3), Hv = p.kv.value_width();
  if (sizeof(T) != 2) return {false, "elements are not of 16 bits"};
  if (architecture < 80) return {false, "the device is older than sm_80"};
  if (H > widest_tensor_core_head || Hv > widest_tensor_core_head)
    return {false, "a head has more than 256 elements"};
  if (H % chunk_elements != 0 || Hv % chunk_elements != 0)
    return {false, "a head's elements are no multiple of 8"};
  if (is_quantised<Problem> && (H % 16 != 0 || Hv % 16 != 0))
    return {false, "a quantised head's elements are no multiple of 16"};
  if (!detail::is_aligned(p.q) || !detail::is_aligned(p.kv.k) || !detail::is_aligned(p.kv.v) ||
      !detail::is_aligned(TensorView<const T, 4>(p.out)))
    return {false, "rows do not begin at multiples of 16 bytes"};
  return {true, "", why_not_sm90a(p, architecture)};
}

/// Why AttentionTf32 does not take a problem of f32 on this device; empty if it does.
template <class Problem>
std::string_view why_not_tf32(const Problem& p, int architecture) {
  const index_t H = p.q.extent(3), Hv = p.kv.value_width();
  if (architecture < 80) return "the device is older than sm_80";
  if (H > 128 || Hv > 128) return "a head has more than 128 elements";
  if (H % 4 != 0 || Hv % 4 != 0) return "a head's elements are no multiple of 4";
  if (!detail::is_aligned(p.q) || !detail::is_aligned(p.kv.k) || !detail::is_aligned(p.kv.v))
    return "rows do not begin at multiples of 16 bytes";
  return "";
}

/// Calls f.template operator()<Dk, Dv>() with the narrowest widths that kernels are made for.
template <class F>
void with_padded_widths(index_t H, index_t Hv, F f) {
  if (H <= 64 && Hv <= 64) return f.template operator()<64, 64>();
  if (H <= 128 && Hv <= 128) return f.template operator()<128, 128>();
  if (H <= 192 && Hv <= 128) return f.template operator()<192, 128>();
  if (H <= 192 && Hv <= 192) return f.template operator()<192, 192>();
  f.template operator()<256, 256>();
}

/// The problem that kernels get, checked: extents, and everything that lies on the host.
template <class T, class Source, MaskPolicy Mask, ScorePolicy Score>
AttentionProblem<T, Source, Mask, Score> make_problem(std::string_view op, TensorView<const T, 4> q,
                                                      const Source& kv, TensorView<T, 4> out,
                                                      const AttentionOptions<Mask, Score>& o) {
  AttentionOptions<NoMask, NoScore> on_host;  // a length for all; others lie on the device
  if (o.q_offset.size() < 0) on_host.q_offset = o.q_offset;
  if (o.q_lengths.size() < 0) on_host.q_lengths = o.q_lengths;
  if (o.kv_lengths.size() < 0) on_host.kv_lengths = o.kv_lengths;
  on_host.scale = o.scale;
  on_host.sinks = o.sinks;
  on_host.lse = o.lse;
  check_cache(op, kv);
  KvRows<T> rows;  // pages and codes as the rows that they stand for, without memory
  if constexpr (requires { kv.table; } || !std::is_same_v<typename Source::element_type, T>)
    rows = {
        TensorView<const T, 4>(nullptr, {kv.batch(), kv.max_length(), kv.heads(), kv.key_width()}),
        TensorView<const T, 4>(nullptr,
                               {kv.batch(), kv.max_length(), kv.heads(), kv.value_width()})};
  else
    rows = {kv.k, kv.v};
  ashlar::detail::check_attention(op, q, rows, out, on_host);
  const auto check_size = [&](std::string_view name, const PerSequence& x) {
    if (x.size() >= 0 && x.size() != q.extent(0))
      fail<ShapeError>(op, ": ", name, " has ", x.size(), " entries, expected ", q.extent(0));
  };
  check_size("q_offset", o.q_offset);
  check_size("q_lengths", o.q_lengths);
  check_size("kv_lengths", o.kv_lengths);
  if (q.extent(3) > widest_fallback_head || kv.value_width() > widest_fallback_head)
    fail<ShapeError>(op, ": heads have ", q.extent(3), " and ", kv.value_width(),
                     " elements, expected at most ", widest_fallback_head);
  constexpr index_t most_rows = index_t{1} << 30;  // kernels count rows in 32 bits
  if (q.extent(1) > most_rows || kv.max_length() > most_rows)
    fail<ShapeError>(op, ": ", q.extent(1), " queries and ", kv.max_length(),
                     " keys, expected at most ", most_rows);
  AttentionProblem<T, Source, Mask, Score> p{};
  p.q = q;
  p.kv = kv;
  p.out = out;
  p.options = o;
  p.most_queries = q.extent(1);
  p.scale = ashlar::detail::softmax_scale(o, q.extent(3));
  return p;
}

/// Extents that kernels see of a tensor of packed rows [rows, heads, width]: a batch in one place.
template <class T>
TensorView<T, 4> as_packed_batch(const TensorView<T, 3>& x, index_t batch) {
  const index_t extents[4] = {batch, x.extent(0), x.extent(1), x.extent(2)};
  const index_t strides[4] = {0, x.stride(0), x.stride(1), 1};
  TensorView<T, 4> view;
  view.assign(x.data(), extents, strides);
  return view;
}

/// The problem of sequences that are packed behind each other; the options hold no lengths.
template <class T, MaskPolicy Mask, ScorePolicy Score>
AttentionProblem<T, KeyRows<T>, Mask, Score> make_packed_problem(
    std::string_view op, TensorView<const T, 3> q, TensorView<const T, 3> k,
    TensorView<const T, 3> v, TensorView<T, 3> out, VectorView<const std::int32_t> q_starts,
    VectorView<const std::int32_t> k_starts, index_t most_queries,
    const AttentionOptions<Mask, Score>& o) {
  const index_t batch = q_starts.extent(0) - 1;
  if (batch < 0 || k_starts.extent(0) != q_starts.extent(0))
    fail<ShapeError>(op, ": q_starts has ", q_starts.extent(0), " entries and k_starts ",
                     k_starts.extent(0), ", expected one more than sequences in both");
  if (o.q_lengths.given() || o.kv_lengths.given())
    fail<ValueError>(op, ": lengths are given by q_starts and k_starts, not by the options");
  if (most_queries < 0 || most_queries > q.extent(0))
    fail<ValueError>(op, ": most_queries is ", most_queries, ", expected 0 to ", q.extent(0));
  expect_shape(op, "v", v, {k.extent(0), k.extent(1), v.extent(2)});
  if (!o.lse.empty()) expect_shape(op, "lse", o.lse, {1, q.extent(1), q.extent(0)});
  AttentionOptions<Mask, Score> checked = o;
  checked.lse = {};
  auto p = make_problem(
      op, as_packed_batch(q, batch),
      KeyRows<T>{as_packed_batch(k, batch), as_packed_batch(v, batch), {k_starts.data()}},
      as_packed_batch(out, batch), checked);
  p.options.lse = o.lse;
  if (!o.lse.empty()) {  // every sequence's rows in one batch
    const index_t extents[3] = {batch, o.lse.extent(1), o.lse.extent(2)};
    const index_t strides[3] = {0, o.lse.stride(1), 1};
    p.options.lse.assign(o.lse.data(), extents, strides);
  }
  p.queries = {q_starts.data()};
  p.most_queries = most_queries;
  return p;
}

/// Bytes of workspace that the splits of a decoding problem need.
template <class Problem>
std::size_t decode_workspace_bytes(const Problem& p) {
  const index_t rows = p.q.extent(0) * p.heads() * p.most_queries;
  const index_t splits = ceil_div(p.kv.max_length(), decode_split_keys);
  return static_cast<std::size_t>(rows * splits * (p.kv.value_width() * 4 + 8)) + 512;
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
