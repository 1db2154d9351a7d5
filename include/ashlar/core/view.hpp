// TensorView: a pointer with run-time extents and strides, the only tensor in public signatures.
#pragma once

#include <ashlar/core/dtype.hpp>
#include <ashlar/core/error.hpp>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace ashlar::inline ASHLAR_ABI {

/// Non-owning view of a dense tensor of static rank. Extents and strides are run-time values in
/// elements; the last stride is always 1, every other one may be anything (0 included), so that a
/// head, a slice or a transposed outer order is a view too. Trivially copyable.
template <class T, int Rank>
class TensorView {
  static_assert(Rank >= 1, "ashlar: a TensorView has at least one dimension");

 public:
  using element_type = T;
  static constexpr int rank = Rank;

  constexpr TensorView() = default;

  /// Contiguous, row-major.
  ASHLAR_HD constexpr TensorView(T* data, const index_t (&extents)[Rank]) : data_(data) {
    index_t step = 1;
    for (int r = Rank - 1; r >= 0; --r) {
      extent_[r] = extents[r];
      stride_[r] = step;
      step *= extents[r];
    }
  }
  /// With strides in elements. Throws ValueError if the last one is not 1.
  constexpr TensorView(T* data, const index_t (&extents)[Rank], const index_t (&strides)[Rank])
      : data_(data) {
    for (int r = 0; r < Rank; ++r) {
      extent_[r] = extents[r];
      stride_[r] = strides[r];
    }
    if (strides[Rank - 1] != 1 && extents[Rank - 1] > 1)
      fail<ValueError>("TensorView: last stride is ", strides[Rank - 1], ", expected 1");
  }
  /// A view of const elements from one of mutable elements.
  template <class U>
  requires(std::same_as<T, const U> && !std::is_const_v<U>) ASHLAR_HD
      constexpr TensorView(const TensorView<U, Rank>& other)
      : data_(other.data()) {
    for (int r = 0; r < Rank; ++r) {
      extent_[r] = other.extent(r);
      stride_[r] = other.stride(r);
    }
  }

  ASHLAR_HD constexpr T* data() const { return data_; }
  ASHLAR_HD constexpr index_t extent(int r) const { return extent_[r]; }
  ASHLAR_HD constexpr index_t stride(int r) const { return stride_[r]; }
  ASHLAR_HD constexpr index_t size() const {
    index_t n = 1;
    for (int r = 0; r < Rank; ++r) n *= extent_[r];
    return n;
  }
  /// True when nothing is there: no memory, or an extent of 0.
  ASHLAR_HD constexpr bool empty() const { return data_ == nullptr || size() == 0; }
  ASHLAR_HD constexpr bool contiguous() const {
    index_t step = 1;
    for (int r = Rank - 1; r >= 0; --r) {
      if (extent_[r] != 1 && stride_[r] != step) return false;
      step *= extent_[r];
    }
    return true;
  }

  template <class... Index>
  requires(sizeof...(Index) == Rank && (std::integral<Index> && ...)) ASHLAR_HD constexpr T&
  operator()(Index... i) const {
    const index_t index[Rank] = {static_cast<index_t>(i)...};
    index_t offset = 0;
    for (int r = 0; r < Rank; ++r) {
#if defined(ASHLAR_DEBUG_CHECKS) && !defined(__CUDA_ARCH__)
      if (index[r] < 0 || index[r] >= extent_[r])
        fail<ValueError>("TensorView: index ", index[r], " in dimension ", r, " of extent ",
                         extent_[r]);
#endif
      offset += index[r] * stride_[r];
    }
    return data_[offset];
  }
  /// Pointer to the first element of row i of a matrix.
  ASHLAR_HD constexpr T* row(index_t i) const requires(Rank == 2) { return data_ + i * stride_[0]; }

  /// The sub-view at index i of the first dimension.
  ASHLAR_HD constexpr TensorView<T, Rank - 1> at(index_t i) const requires(Rank > 1) {
    TensorView<T, Rank - 1> v;
    v.assign(data_ + i * stride_[0], extent_ + 1, stride_ + 1);
    return v;
  }
  /// Elements [begin, end) of one dimension.
  ASHLAR_HD constexpr TensorView slice(int dimension, index_t begin, index_t end) const {
    TensorView v = *this;
    v.data_ += begin * stride_[dimension];
    v.extent_[dimension] = end - begin;
    return v;
  }

  /// Sets pointer, extents and strides without a check; for other views.
  ASHLAR_HD constexpr void assign(T* data, const index_t* extents, const index_t* strides) {
    data_ = data;
    for (int r = 0; r < Rank; ++r) {
      extent_[r] = extents[r];
      stride_[r] = strides[r];
    }
  }

 private:
  T* data_ = nullptr;
  index_t extent_[Rank] = {};
  index_t stride_[Rank] = {};
};

template <class T>
using VectorView = TensorView<T, 1>;
template <class T>
using MatrixView = TensorView<T, 2>;

/// [M, heads * width] as [M, heads, width].
template <class T>
constexpr TensorView<T, 3> split_heads(MatrixView<T> x, index_t heads) {
  if (heads <= 0 || x.extent(1) % heads != 0)
    fail<ShapeError>("split_heads: width ", x.extent(1), " does not divide into ", heads, " heads");
  const index_t width = x.extent(1) / heads;
  return {x.data(), {x.extent(0), heads, width}, {x.stride(0), width, 1}};
}
/// [M, heads, width] with neighbouring heads as [M, heads * width].
template <class T>
constexpr MatrixView<T> merge_heads(TensorView<T, 3> x) {
  if (x.extent(1) > 1 && x.stride(1) != x.extent(2))
    fail<ShapeError>("merge_heads: heads are ", x.stride(1), " elements apart, expected ",
                     x.extent(2));
  return {x.data(), {x.extent(0), x.extent(1) * x.extent(2)}, {x.stride(0), 1}};
}

namespace detail {
inline std::string shape_text(const index_t* extents, int rank) {
  std::string text = "[";
  for (int r = 0; r < rank; ++r) text += (r ? ", " : "") + std::to_string(extents[r]);
  return text + "]";
}
}  // namespace detail

namespace detail {
[[noreturn]] ASHLAR_NOINLINE inline void wrong_shape(std::string_view op, std::string_view argument,
                                                     const index_t* got, const index_t* expected,
                                                     int rank) {
  fail<ShapeError>(op, ": ", argument, " has shape ", shape_text(got, rank), ", expected ",
                   shape_text(expected, rank));
}
}  // namespace detail

/// Throws ShapeError "op: argument has shape [..], expected [..]" unless the extents agree.
template <class T, int Rank>
void expect_shape(std::string_view op, std::string_view argument, const TensorView<T, Rank>& view,
                  const index_t (&expected)[Rank]) {
  bool same = true;
  index_t got[Rank];
  for (int r = 0; r < Rank; ++r) {
    got[r] = view.extent(r);
    same = same && got[r] == expected[r];
  }
  if (!same) detail::wrong_shape(op, argument, got, expected, Rank);
}

/// Under ASHLAR_DEBUG_CHECKS: throws ValueError when the memory spans of two views overlap without
/// being the same view (`alias_allowed`) or at all.
template <class T, class U, int R, int S>
void expect_no_overlap([[maybe_unused]] std::string_view op,
                       [[maybe_unused]] std::string_view output,
                       [[maybe_unused]] const TensorView<T, R>& y,
                       [[maybe_unused]] std::string_view input,
                       [[maybe_unused]] const TensorView<U, S>& x,
                       [[maybe_unused]] bool alias_allowed = false) {
#if defined(ASHLAR_DEBUG_CHECKS)
  if (x.empty() || y.empty()) return;
  if (alias_allowed && static_cast<const void*>(y.data()) == static_cast<const void*>(x.data()))
    return;
  const auto end = [](const auto& v) {
    index_t last = 0;
    for (int r = 0; r < std::remove_cvref_t<decltype(v)>::rank; ++r)
      last += (v.extent(r) - 1) * v.stride(r);
    return reinterpret_cast<const char*>(v.data() + last + 1);
  };
  const auto begin = [](const auto& v) { return reinterpret_cast<const char*>(v.data()); };
  if (begin(x) < end(y) && begin(y) < end(x))
    fail<ValueError>(op, ": ", output, " overlaps ", input, alias_allowed ? " in part" : "");
#endif
}

}  // namespace ashlar::inline ASHLAR_ABI
