// What a loader sees of a weight file: named tensors as bytes, whatever the format.
#pragma once

#include <ashlar/core/dtype.hpp>
#include <ashlar/weights/bytes.hpp>
#include <ashlar/weights/name_index.hpp>
#include <memory>
#include <utility>

namespace ashlar::inline ASHLAR_ABI {
namespace detail {
/// The number of elements of a shape with extents >= 0. False if the product of all extents but
/// the zeros overflows: then some order of multiplication would.
inline bool count_elements(const std::vector<index_t>& shape, std::uint64_t& count) {
  count = 1;
  bool empty = false;
  for (const index_t extent : shape) {
    empty = empty || extent == 0;
    if (extent != 0 && !multiply(count, static_cast<std::uint64_t>(extent))) return false;
  }
  if (empty) count = 0;
  return true;
}
}  // namespace detail

/// One tensor of a file. `bytes` may start at any address: read with load or read_f32, or ask
/// typed_view for a span.
struct TensorInfo {
  std::string name;
  DType dtype = DType::unsupported;
  std::string type_name;             ///< as the file says, e.g. "BF16", "IQ4_XS (23)"
  std::vector<index_t> shape;        ///< row-major, outermost first; empty for a scalar
  std::span<const std::byte> bytes;  ///< empty if dtype is unsupported and its size unknown

  index_t elements() const {
    index_t n = 1;
    for (const index_t extent : shape) n *= extent;
    return n;
  }
};

/// The tensors of an opened file or set of files. The memory that they point to lives as long as
/// the source. Names are unique.
class TensorSource {
 public:
  TensorSource(TensorSource&&) = default;
  TensorSource& operator=(TensorSource&&) = default;
  virtual ~TensorSource() = default;

  /// Name of the file or folder, for messages.
  const std::string& path() const { return path_; }
  /// All tensors in the order of the file's index.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// The tensor of this name, or null.
  const TensorInfo* find(std::string_view name) const { return index_.find(tensors_, name); }
  /// The tensor of this name. Throws FileError if there is none.
  const TensorInfo& at(std::string_view name) const {
    const TensorInfo* tensor = find(name);
    if (!tensor) fail<FileError>(path_, ": has no tensor ", detail::quote(name));
    return *tensor;
  }

 protected:
  explicit TensorSource(std::string path) : path_(std::move(path)) {}

  void set_tensors(std::vector<TensorInfo> tensors) {
    tensors_ = std::move(tensors);
    const std::size_t twice = index_.build(tensors_);
    if (twice != tensors_.size())
      fail<FileError>(path_, ": tensor name ", detail::quote(tensors_[twice].name),
                      " occurs twice, expected unique names");
  }

 private:
  std::string path_;
  std::vector<TensorInfo> tensors_;
  NameIndex index_;
};

/// Describes values in memory as a tensor, for write_safetensors.
template <class T>
requires(dtype_of<T> != DType::unsupported) TensorInfo
    describe_tensor(std::string name, std::vector<index_t> shape, std::span<const T> values) {
  TensorInfo tensor{std::move(name), dtype_of<T>, std::string(info(dtype_of<T>).name),
                    std::move(shape), std::as_bytes(values)};
  if (tensor.elements() != static_cast<index_t>(values.size()))
    fail<ShapeError>("describe_tensor: tensor ", detail::quote(tensor.name), " has ", values.size(),
                     " values, expected ", tensor.elements());
  return tensor;
}

/// Copies a floating-point tensor to `out`, rounding F64 to float. `where` begins the messages: the
/// path of the tensor's file.
/// Dtypes: F64, F32, F16, BF16. Throws ValueError for another, ShapeError unless shape, bytes and
/// `out` have the same number of elements.
inline void read_f32(const TensorInfo& tensor, std::span<float> out,
                     std::string_view where = "read_f32") {
  if (static_cast<index_t>(out.size()) != tensor.elements())
    fail<ShapeError>(where, ": tensor ", detail::quote(tensor.name), " has ", tensor.elements(),
                     " elements, the output has ", out.size());
  const auto convert = [&]<class T>(T) {
    if (tensor.bytes.size() != out.size() * sizeof(T))
      fail<ShapeError>(where, ": tensor ", detail::quote(tensor.name), " has ", tensor.bytes.size(),
                       " bytes, its shape needs ", out.size() * sizeof(T));
    const std::byte* p = tensor.bytes.data();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(load<T>(p + i * sizeof(T)));
  };
  switch (tensor.dtype) {
    case DType::f64:
      return convert(double{});
    case DType::f32:
      return convert(float{});
    case DType::f16:
      return convert(half{});
    case DType::bf16:
      return convert(bfloat16{});
    default:
      fail<ValueError>(where, ": tensor ", detail::quote(tensor.name), " has type ",
                       tensor.type_name, ", expected F64, F32, F16 or BF16");
  }
}

/// The elements of a tensor in place, without a copy.
/// Throws ValueError if the tensor has another type or its address does not suit T (files may put
/// data at any byte); then copy with load or read_f32.
template <class T>
std::span<const T> typed_view(const TensorInfo& tensor) {
  static_assert(dtype_of<T> != DType::unsupported, "ashlar: no tensor has this element type");
  if (tensor.dtype != dtype_of<T>)
    fail<ValueError>("typed_view: tensor ", detail::quote(tensor.name), " has type ",
                     tensor.type_name, ", expected ", info(dtype_of<T>).name);
  if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(T) != 0)
    fail<ValueError>("typed_view: tensor ", detail::quote(tensor.name), " of type ",
                     tensor.type_name, " is not aligned to ", alignof(T), " bytes in its file");
  return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}

}  // namespace ashlar::inline ASHLAR_ABI
