// WeightMatrix: a matrix of any stored type, in file order or packed in panels.
#pragma once

#include <ashlar/core/view.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Where the elements of a WeightMatrix lie.
///   rows    row n at n * row_bytes, its elements or blocks in order: as files store them
///   panels  16 rows side by side, k major: weights/panels.hpp. What kernels like
enum class WeightLayout { rows, panels };

/// Non-owning view of weights W [N out, K in] whose element type is known at run time only: real
/// files mix types inside one model, so the type of the weights never enters the type of a layer.
class WeightMatrix {
 public:
  WeightMatrix() = default;

  /// Rows of N * K elements of type F32, F16 or BF16.
  template <Element T>
  requires(!std::is_same_v<std::remove_const_t<T>, double>)
      WeightMatrix(MatrixView<T> w)  // NOLINT: a matrix of floats is a weight matrix
      : WeightMatrix(w.data(), dtype_of<std::remove_const_t<T>>, w.extent(0), w.extent(1),
                     WeightLayout::rows, w.stride(0) * static_cast<index_t>(sizeof(T))) {}

  /// Stored bytes. row_bytes is used by the layout `rows` only; 0 means neighbouring rows.
  /// Throws ShapeError when a row is not a whole number of blocks.
  WeightMatrix(const void* data, DType type, index_t rows, index_t columns, WeightLayout layout,
               index_t row_bytes = 0)
      : data_(static_cast<const std::byte*>(data)),
        rows_(rows),
        columns_(columns),
        type_(type),
        layout_(layout) {
    const DTypeInfo i = info(type);
    if (i.bytes == 0 || !(is_quantized(type) || is_float(type)) || type == DType::f64)
      fail<ValueError>("WeightMatrix: type ", i.name, " is not a weight type");
    if (columns % i.elements != 0)
      fail<ShapeError>("WeightMatrix: rows of ", columns, " elements are no whole number of ",
                       i.name, " blocks of ", i.elements);
    row_bytes_ = row_bytes ? row_bytes : columns / i.elements * i.bytes;
  }

  const std::byte* data() const { return data_; }
  DType type() const { return type_; }
  WeightLayout layout() const { return layout_; }
  index_t rows() const { return rows_; }
  index_t columns() const { return columns_; }
  index_t row_bytes() const { return row_bytes_; }
  bool empty() const { return data_ == nullptr; }

 private:
  const std::byte* data_ = nullptr;
  index_t rows_ = 0, columns_ = 0, row_bytes_ = 0;
  DType type_ = DType::f32;
  WeightLayout layout_ = WeightLayout::rows;
};

}  // namespace ashlar::inline ASHLAR_ABI
