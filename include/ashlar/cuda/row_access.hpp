// Rows in pieces of 16 bytes: what one thread reads and writes at once, at any width and alignment.
#pragma once

#include <ashlar/core/view.hpp>
#include <ashlar/cuda/words.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Elements of T in a piece.
template <class T>
inline constexpr int piece = 16 / static_cast<int>(sizeof(T));

/// True where `from` may be read as a V with one instruction.
template <class V>
ASHLAR_DEVICE bool is_aligned(const void* from) {
  return reinterpret_cast<std::uintptr_t>(from) % alignof(V) == 0;
}

/// Elements first .. first + piece - 1 of a row of `width`; zeros past its end, which is not read.
/// One access where the address allows it.
template <class P, class T>
ASHLAR_DEVICE Quad load_piece(const T* row, index_t first, index_t width) {
  const T* from = row + first;
  if (first + piece<T> <= width && is_aligned<Quad>(from)) return P::template load<Quad>(from);
  Quad x{};
  ASHLAR_DEVICE_UNROLL
  for (int e = 0; e < piece<T>; ++e) {
    if (first + e >= width) continue;
    if constexpr (sizeof(T) == 4)
      x.word[e] = __builtin_bit_cast(std::uint32_t, from[e]);
    else
      x.word[e / 2] |= std::uint32_t{from[e].bits} << (16 * (e % 2));
  }
  return x;
}

/// Writes a piece; nothing past the row's end.
template <class P, class T>
ASHLAR_DEVICE void store_piece(T* row, index_t first, index_t width, const Quad& x) {
  T* to = row + first;
  if (first + piece<T> <= width && is_aligned<Quad>(to)) return P::store(to, x);
  ASHLAR_DEVICE_UNROLL
  for (int e = 0; e < piece<T>; ++e) {
    if (first + e >= width) continue;
    if constexpr (sizeof(T) == 4)
      to[e] = __builtin_bit_cast(float, x.word[e]);
    else
      to[e] = T::from_bits(static_cast<std::uint16_t>(x.word[e / 2] >> (16 * (e % 2))));
  }
}

/// N elements of T that lie in words, as floats.
template <class P, class T, int N, int Count>
ASHLAR_DEVICE void to_floats(const Words<Count>& x, float (&y)[N]) {
  static_assert(N * sizeof(T) == 4 * Count);
  ASHLAR_DEVICE_UNROLL
  for (int i = 0; i < Count; ++i) {
    if constexpr (sizeof(T) == 4)
      y[i] = __builtin_bit_cast(float, x.word[i]);
    else
      P::template unpack<T>(x.word[i], y[2 * i], y[2 * i + 1]);
  }
}
/// Floats rounded to a piece of T.
template <class P, class T>
ASHLAR_DEVICE Quad to_piece(const float (&x)[piece<T>]) {
  Quad y;
  ASHLAR_DEVICE_UNROLL
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4)
      y.word[i] = __builtin_bit_cast(std::uint32_t, x[i]);
    else
      y.word[i] = P::template pack<T>(x[2 * i], x[2 * i + 1]);
  }
  return y;
}

/// N floats of a row that belongs to the channels, from `first` on; zeros past its end.
template <class P, int N>
ASHLAR_DEVICE void load_channels(const float* row, index_t first, index_t width, float (&y)[N]) {
  static_assert(N % 4 == 0);
  ASHLAR_DEVICE_UNROLL
  for (int i = 0; i < N; i += 4) {
    const Quad x = load_piece<P>(row, first + i, width);
    ASHLAR_DEVICE_UNROLL
    for (int e = 0; e < 4; ++e) y[i + e] = __builtin_bit_cast(float, x.word[e]);
  }
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
