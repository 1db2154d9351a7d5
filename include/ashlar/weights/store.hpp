// WeightStore: owns the weights of a model, packed for the kernels.
#pragma once

#include <algorithm>
#include <ashlar/core/buffer.hpp>
#include <ashlar/weights/name_map.hpp>
#include <ashlar/weights/pack.hpp>
#include <ashlar/weights/tensor_source.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// One allocation that holds every weight of a model: matrices in panels in the type they are
/// stored in, vectors as f32. The views of a model's Weights point into it.
class WeightStore {
 public:
  index_t bytes() const { return memory_.size(); }

  /// Takes every weight that `visit` names from a checkpoint and sets its view. `visit(f)` must
  /// call f(name, view, extents) for each; `progress(done, total)` is told the bytes, from time to
  /// time. Throws one FileError that lists all missing, extra and mis-shaped tensors; after this or
  /// any other error, of `progress` too, nothing is set.
  template <class Visit, class Progress>
  void load(const TensorSource& source, const NameMap& names, const Executor& executor,
            Visit&& visit, Progress&& progress) {
    std::vector<Request> requests;
    visit([&](std::string_view name, auto& view, std::initializer_list<index_t> extents) {
      requests.push_back(Request(view, names(name), extents));
    });
    find_tensors(source, names, requests);

    index_t total = 0;
    for (const Request& r : requests) total += round_up(r.bytes(), align);
    Buffer<std::byte> memory(total);
    index_t done = 0;
    for (const Request& r : requests) {
      r.fill(memory.data() + done, executor);
      done += round_up(r.bytes(), align);
      progress(done, total);
    }
    std::byte* at = memory.data();
    for (const Request& r : requests) {
      r.set(at);
      at += round_up(r.bytes(), align);
    }
    memory_ = std::move(memory);
  }

 private:
  static constexpr index_t align = static_cast<index_t>(detail::alignment);

  struct Request {
    Request(WeightMatrix& view, TensorRecipe from, std::initializer_list<index_t> extents)
        : matrix(&view), recipe(std::move(from)), shape(extents) {}
    Request(VectorView<const float>& view, TensorRecipe from,
            std::initializer_list<index_t> extents)
        : vector(&view), recipe(std::move(from)), shape(extents) {}

    WeightMatrix* matrix = nullptr;
    VectorView<const float>* vector = nullptr;
    TensorRecipe recipe;
    std::vector<index_t> shape;
    const TensorInfo* tensor = nullptr;

    /// The shape that the stored tensor should have.
    std::vector<index_t> stored_shape() const {
      std::vector<index_t> s = shape;
      if (recipe.total_rows) s[0] = recipe.total_rows;
      if (recipe.transposed) std::reverse(s.begin(), s.end());
      return s;
    }
    index_t bytes() const {
      return matrix ? packed_bytes(tensor->dtype, shape[0], shape[1])
                    : shape[0] * static_cast<index_t>(sizeof(float));
    }
    void fill(std::byte* out, const Executor& executor) const {
      if (vector) {
        auto* values = reinterpret_cast<float*>(out);
        TensorInfo part = *tensor;
        const index_t size = info(tensor->dtype).bytes;
        part.shape = shape;
        part.bytes = tensor->bytes.subspan(static_cast<std::size_t>(recipe.first_row * size),
                                           static_cast<std::size_t>(shape[0] * size));
        read_f32(part, {values, static_cast<std::size_t>(shape[0])});
      } else if (recipe.transposed) {
        fill_transposed(out, executor);
      } else {
        const WeightMatrix whole(tensor->bytes.data(), tensor->dtype, tensor->shape[0], shape[1],
                                 WeightLayout::rows);
        pack_panels(WeightMatrix(whole.data() + recipe.first_row * whole.row_bytes(), tensor->dtype,
                                 shape[0], shape[1], WeightLayout::rows),
                    out, executor);
      }
    }
    void set(std::byte* filled) const {
      if (vector)
        *vector = VectorView<const float>(reinterpret_cast<float*>(filled), {shape[0]});
      else
        *matrix = WeightMatrix(filled, tensor->dtype, shape[0], shape[1], WeightLayout::panels);
    }
    void fill_transposed(std::byte* out, const Executor& executor) const {
      const auto pack = [&]<class T>(T) {
        const index_t N = tensor->shape[1];
        std::vector<T> values(
            static_cast<std::size_t>(shape[1] * N));  // the file may be misaligned
        std::memcpy(static_cast<void*>(values.data()), tensor->bytes.data(), tensor->bytes.size());
        const MatrixView<const T> in_out(values.data(), {shape[1], N});
        pack_panels_transposed(in_out.slice(1, recipe.first_row, recipe.first_row + shape[0]), out,
                               executor);
      };
      if (tensor->dtype == DType::f32)
        pack(float{});
      else if (tensor->dtype == DType::f16)
        pack(half{});
      else
        pack(bfloat16{});
    }
  };

  static std::string shape_of(const std::vector<index_t>& shape) {
    return detail::shape_text(shape.data(), static_cast<int>(shape.size()));
  }

  static void find_tensors(const TensorSource& source, const NameMap& names,
                           std::vector<Request>& requests) {
    struct List {
      std::string text, last;
      void add(const std::string& item) {
        if (item == last) return;  // one tensor may hold weights that are visited in a row
        text += (text.empty() ? "" : ", ") + item;
        last = item;
      }
    } missing, wrong, extra;
    std::vector<std::string_view> used;
    for (Request& r : requests) {
      r.tensor = source.find(r.recipe.name);
      used.push_back(r.recipe.name);
      if (r.tensor == nullptr) {
        missing.add(r.recipe.name);
      } else if (r.tensor->shape != r.stored_shape()) {
        wrong.add(join(r.recipe.name, " has shape ", shape_of(r.tensor->shape), ", expected ",
                       shape_of(r.stored_shape())));
      } else if (const std::string problem = type_problem(r); !problem.empty()) {
        wrong.add(problem);
      }
    }
    std::sort(used.begin(), used.end());
    for (const TensorInfo& t : source.tensors())
      if (!std::binary_search(used.begin(), used.end(), std::string_view(t.name)) &&
          !names.ignores(t.name))
        extra.add(t.name);
    std::string text;
    if (!missing.text.empty()) text += "\n  missing: " + missing.text;
    if (!extra.text.empty()) text += "\n  not expected: " + extra.text;
    if (!wrong.text.empty()) text += "\n  wrong: " + wrong.text;
    if (!text.empty()) fail<FileError>(source.path(), ": the tensors do not fit the model", text);
  }
  static std::string type_problem(const Request& r) {
    const DType type = r.tensor->dtype;
    const bool narrow = type == DType::f32 || type == DType::f16 || type == DType::bf16;
    const bool fits = r.vector              ? is_float(type)
                      : r.recipe.transposed ? narrow
                                            : narrow || is_quantized(type);
    if (fits) return {};
    return join(r.recipe.name, " has type ", r.tensor->type_name, ", expected ",
                r.vector              ? "F64, F32, F16 or BF16"
                : r.recipe.transposed ? "F32, F16 or BF16"
                                      : "F32, F16, BF16 or a block format that is supported");
  }

  Buffer<std::byte> memory_;
};

}  // namespace ashlar::inline ASHLAR_ABI
