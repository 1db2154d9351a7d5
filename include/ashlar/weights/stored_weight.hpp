// StoredWeight: one weight as its rule describes it, found in a file and packed from there.
#pragma once

#include <ashlar/weights/name_map.hpp>
#include <ashlar/weights/pack.hpp>
#include <ashlar/weights/tensor_source.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What the weights of a model found in a file, and what not.
struct TensorFindings {
  std::vector<char> used;  // whether a weight lies in tensor i
  std::vector<std::string> missing, wrong;
};

/// A matrix [rows, columns], or a vector of `rows` elements, and the tensors that hold it.
class StoredWeight {
 public:
  /// Throws ValueError for a rule that cannot hold for a weight of this shape.
  StoredWeight(std::string_view weight, NameRule rule, std::vector<index_t> shape)
      : name_(std::move(rule.stored)),
        as_(rule.as),
        rows_(shape[0]),
        columns_(shape.size() > 1 ? shape[1] : 1),
        vector_(shape.size() == 1) {
    const auto refuse = [&](const auto&... why) {
      fail<ValueError>("NameMap: the rule for \"", weight, "\", ", shape_text(shape), ", ", why...);
    };
    if (vector_ && as_.transposed) refuse("is transposed, expected a matrix");
    if (!vector_ && as_.add != 0) refuse("adds ", as_.add, ", expected a vector");
    if (as_.parts < 0 || (as_.parts && name_.find("{}") == std::string::npos))
      refuse("has ", as_.parts, " parts named \"", name_, "\", expected a \"{}\" for each");
    if (as_.block == 0 && as_.period == 0) {
      as_.block = as_.period = max_index(rows_, 1);
    } else if (as_.block < 1 || as_.period < as_.block || rows_ % as_.block != 0) {
      refuse("takes blocks of ", as_.block, " rows out of ", as_.period,
             ", expected a divisor of the rows and a period that holds it");
    }
    std::uint64_t whole = static_cast<std::uint64_t>(rows_ / as_.block);
    if (!detail::multiply(whole, static_cast<std::uint64_t>(as_.period)) || whole > limit)
      refuse("has periods of ", as_.period, " rows, more than can be counted");
    if (as_.total_rows == 0) as_.total_rows = static_cast<index_t>(whole);
    const index_t last = rows_ ? rows_ / as_.block * as_.period - as_.period + as_.block : 0;
    if (as_.first_row < 0 || as_.first_row > as_.total_rows - last)
      refuse("takes rows ", as_.first_row, " to ", as_.first_row + last, " of ", as_.total_rows);
    if (as_.parts && as_.total_rows % as_.parts != 0)
      refuse("has ", as_.total_rows, " rows in ", as_.parts, " parts, expected whole rows");
    if (!as_.shape.empty() && (as_.transposed || !holds_all_rows(as_.shape)))
      refuse("lies in ", shape_text(as_.shape), ", expected extents that keep its rows");
  }

  index_t rows() const { return rows_; }
  index_t columns() const { return columns_; }
  DType type() const { return parts_[0]->dtype; }
  /// Bytes once packed.
  index_t bytes() const {
    return vector_ ? rows_ * static_cast<index_t>(sizeof(float))
                   : packed_bytes(type(), rows_, columns_);
  }

  /// Looks the tensors up. Notes the names of those that are not there, and what is wrong with
  /// those of another shape or type.
  void find(const TensorSource& source, TensorFindings& findings) {
    // One more than there are tensors: a number from a file must not make a list of any length.
    const auto most = static_cast<index_t>(source.tensors().size()) + 1;
    for (index_t i = 0; i < min_index(most, max_index(as_.parts, 1)); ++i) {
      std::string name = name_;
      if (as_.parts) name.replace(name.rfind("{}"), 2, std::to_string(i));
      const TensorInfo* tensor = source.find(name);
      if (tensor == nullptr) {
        findings.missing.push_back(name);
      } else {
        if (!fits(tensor->shape))
          findings.wrong.push_back(
              join(name, " has shape ", shape_text(tensor->shape), ", expected ", expected()));
        else if (const std::string problem = type_problem(*tensor); !problem.empty())
          findings.wrong.push_back(
              join(name, " has type ", tensor->type_name, ", expected ", problem));
        findings.used[static_cast<std::size_t>(tensor - source.tensors().data())] = 1;
      }
      parts_.push_back(tensor);
    }
  }

  /// Packs a weight whose tensors were all found and right: bytes() bytes at `out`.
  void fill(std::byte* out, const Executor& executor) const {
    if (vector_)
      fill_vector(reinterpret_cast<float*>(out));
    else if (!as_.transposed)
      pack_gathered(
          type(), rows_, columns_, [&](index_t n) { return row(n); }, out, executor);
    else if (type() == DType::f32)
      fill_transposed<float>(out, executor);
    else if (type() == DType::f16)
      fill_transposed<half>(out, executor);
    else
      fill_transposed<bfloat16>(out, executor);
  }

 private:
  static constexpr std::uint64_t limit = std::uint64_t{1} << 62;

  static std::string shape_text(const std::vector<index_t>& shape) {
    return detail::shape_text(shape.data(), static_cast<int>(shape.size()));
  }

  index_t part_rows() const { return as_.total_rows / max_index(as_.parts, 1); }

  /// Whether the leading extents are the rows and the others the columns.
  bool holds_all_rows(const std::vector<index_t>& shape) const {
    std::uint64_t elements = 1;
    bool rows = part_rows() == 1;
    for (const index_t n : shape) {
      if (n < 1 || !detail::multiply(elements, static_cast<std::uint64_t>(n))) return false;
      rows = rows || elements == static_cast<std::uint64_t>(part_rows());
    }
    std::uint64_t all = static_cast<std::uint64_t>(part_rows());
    return rows && detail::multiply(all, static_cast<std::uint64_t>(columns_)) && elements == all;
  }
  static std::vector<index_t> without_ones(std::vector<index_t> shape) {
    std::erase(shape, 1);
    return shape;
  }
  /// The shape of each stored tensor, unless it is reshaped.
  std::vector<index_t> part_shape() const {
    if (!as_.shape.empty()) return as_.shape;
    if (vector_) return {part_rows()};
    if (as_.transposed) return {columns_, part_rows()};
    return {part_rows(), columns_};
  }
  std::string expected() const {
    return shape_text(part_shape()) + (as_.reshaped ? " or these rows in other extents" : "");
  }
  bool fits(const std::vector<index_t>& shape) const {
    if (!as_.shape.empty()) return without_ones(shape) == without_ones(as_.shape);
    if (!as_.reshaped) return shape == part_shape();
    const index_t N = part_rows();
    const auto product = [&](std::size_t begin, std::size_t end) {
      index_t n = 1;
      for (std::size_t i = begin; i < end; ++i) n *= shape[i];
      return n;
    };
    const std::size_t rank = shape.size();
    if (as_.transposed)
      return rank >= 2 && shape[rank - 2] == columns_ &&
             product(0, rank - 2) * shape[rank - 1] == N;
    for (std::size_t cut = 0; cut <= rank; ++cut)
      if (product(0, cut) == N && product(cut, rank) == columns_) return true;
    return false;
  }
  /// The types that a tensor should have had, or "".
  std::string type_problem(const TensorInfo& tensor) const {
    const DType t = tensor.dtype;
    if (vector_) return is_float(t) ? "" : "F64, F32, F16 or BF16";
    const bool narrow = is_float(t) && t != DType::f64;
    if (as_.transposed && !narrow) return "F32, F16 or BF16";
    if (!narrow && !is_quantized(t)) return "F32, F16, BF16 or a block format that is supported";
    if (columns_ % info(t).elements != 0)
      return join("rows of whole blocks, not of ", columns_, " elements");
    if (!parts_.empty() && parts_[0] != nullptr && parts_[0]->dtype != t)
      return join(parts_[0]->type_name, " as ", parts_[0]->name);
    return "";
  }

  /// Tensor and row in it of row i.
  struct Place {
    const TensorInfo* tensor;
    index_t row;
  };
  Place place(index_t i) const {
    const index_t stored = as_.first_row + i / as_.block * as_.period + i % as_.block;
    return {parts_[static_cast<std::size_t>(stored / part_rows())], stored % part_rows()};
  }
  const std::byte* row(index_t i) const {
    const auto [tensor, at] = place(i);
    const DTypeInfo t = info(tensor->dtype);
    return tensor->bytes.data() + at * (columns_ / t.elements * t.bytes);
  }

  void fill_vector(float* out) const {
    for (index_t i = 0, count; i < rows_; i += count) {
      const auto [tensor, at] = place(i);
      count = min_index(rows_ - i, min_index(as_.block - i % as_.block, part_rows() - at));
      const auto bytes = static_cast<std::size_t>(count * info(tensor->dtype).bytes);
      read_f32({tensor->name, tensor->dtype, tensor->type_name, {count}, {row(i), bytes}},
               {out + i, static_cast<std::size_t>(count)});
    }
    if (as_.add != 0)  // x + 0 would turn -0 into +0
      for (index_t i = 0; i < rows_; ++i) out[i] += as_.add;
  }
  template <class T>
  void fill_transposed(std::byte* out, const Executor& executor) const {
    const auto column = [&](index_t i) {
      const auto [tensor, at] = place(i);
      const index_t N = tensor->shape.back();  // of one matrix of a stack
      constexpr auto size = static_cast<index_t>(sizeof(T));
      return StoredColumn{tensor->bytes.data() + (at / N * columns_ * N + at % N) * size, N * size};
    };
    pack_gathered_transposed<T>(rows_, columns_, column, out, executor);
  }

  std::string name_;
  StoredAs as_;
  index_t rows_, columns_;
  bool vector_;
  std::vector<const TensorInfo*> parts_;
};

}  // namespace ashlar::inline ASHLAR_ABI
