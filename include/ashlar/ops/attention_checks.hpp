// The shape and range checks that the three attention functions share.
#pragma once

#include <ashlar/attention/kv_tiles.hpp>
#include <ashlar/attention/options.hpp>

namespace ashlar::inline ASHLAR_ABI::detail {

inline void check_per_sequence(std::string_view op, std::string_view name,
                               const PerSequence& values, index_t batch, index_t low,
                               index_t high) {
  if (values.size() >= 0 && values.size() != batch)
    fail<ShapeError>(op, ": ", name, " has ", values.size(), " entries, expected ", batch);
  if (!values.given()) return;
  for (index_t b = 0; b < batch; ++b)
    if (const index_t v = values(b, 0); v < low || v > high)
      fail<ValueError>(op, ": ", name, "[", b, "] is ", v, ", expected ", low, " to ", high);
}

/// Under ASHLAR_DEBUG_CHECKS: out may not overlap keys or values (V14).
template <class T, class U>
void check_source_overlap(std::string_view op, const KvRows<T>& kv, const TensorView<U, 4>& out) {
  expect_no_overlap(op, "out", out, "k", kv.k);
  expect_no_overlap(op, "out", out, "v", kv.v);
}
template <class E, class U>
void check_source_overlap(std::string_view op, const KvTiles<E>& kv, const TensorView<U, 4>& out) {
  using Memory = VectorView<const E>;
  const index_t tiles = kv.batches * kv.kv_heads * kv.tiles;
  expect_no_overlap(op, "out", out, "k", Memory(kv.k_data, {tiles * kv.k_tile_size(kv.k_width)}));
  expect_no_overlap(op, "out", out, "v", Memory(kv.v_data, {tiles * kv.v_tile_size(kv.v_width)}));
}

/// Checks everything that attention is given: V7, V13 and every extent.
template <class T, class Source, class Options, class U>
void check_attention(std::string_view op, TensorView<const T, 4> q, const Source& kv,
                     TensorView<U, 4> out, const Options& o) {
  const index_t B = q.extent(0), T_ = q.extent(1), N = q.extent(2), K = kv.heads();
  if (N < 1 || K < 1 || N % K != 0)
    fail<ShapeError>(op, ": ", N, " query heads and ", K,
                     " key heads, expected a multiple of at least 1");
  if (q.extent(3) < 1 || q.extent(3) != kv.key_width())
    fail<ShapeError>(op, ": q has heads of ", q.extent(3), " elements and k of ", kv.key_width(),
                     ", expected the same, at least 1");
  if (kv.batch() != B) fail<ShapeError>(op, ": q has ", B, " sequences and k has ", kv.batch());
  expect_shape(op, "out", out, {B, T_, N, kv.value_width()});
  if (!o.lse.empty()) expect_shape(op, "lse", o.lse, {B, N, T_});
  if (o.sinks.data() != nullptr) expect_shape(op, "sinks", o.sinks, {N});
  if (!std::isfinite(o.scale))
    fail<ValueError>(op, ": scale is ", o.scale, ", expected a finite number");
  constexpr index_t furthest = index_t{1} << 60;
  check_per_sequence(op, "q_offset", o.q_offset, B, -furthest, furthest);
  check_per_sequence(op, "q_lengths", o.q_lengths, B, 0, T_);
  check_per_sequence(op, "kv_lengths", o.kv_lengths, B, 0, kv.max_length());
  expect_no_overlap(op, "out", out, "q", q);
  check_source_overlap(op, kv, out);
}
template <class T>
KvRows<T> checked_rows(std::string_view op, TensorView<const T, 4> k, TensorView<const T, 4> v) {
  expect_shape(op, "v", v, {k.extent(0), k.extent(1), k.extent(2), v.extent(3)});
  return {k, v};
}

}  // namespace ashlar::inline ASHLAR_ABI::detail
