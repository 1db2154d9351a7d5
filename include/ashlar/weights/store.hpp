// WeightStore: owns the weights of a model, packed for the kernels.
#pragma once

#include <ashlar/core/buffer.hpp>
#include <ashlar/weights/stored_weight.hpp>
#include <string>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// One allocation that holds every weight of a model: matrices in panels in the type they are
/// stored in, vectors as f32. The views of a model's Weights point into it.
class WeightStore {
 public:
  index_t bytes() const { return memory_.size(); }

  /// Takes every weight that `visit` names from a checkpoint and sets its view. `visit(f)` must
  /// call f(name, view, extents) for each; `progress(done, total)` is told the bytes, from time to
  /// time. Throws one FileError that lists the missing, extra and mis-shaped tensors (the first 20
  /// of each), ValueError for a weight without a rule that suits it; after this or any other error,
  /// of `progress` too, nothing is set.
  template <class Visit, class Progress>
  void load(const TensorSource& source, const NameMap& names, const Executor& executor,
            Visit&& visit, Progress&& progress) {
    const NameTable table(names);
    std::vector<Request> requests;
    visit([&](std::string_view name, auto& view, std::initializer_list<index_t> extents) {
      add(requests, table, name, view_of(view), extents);
    });
    find_tensors(source, names, requests);

    const index_t total = place(requests);
    Buffer<std::byte> memory(total);
    for (const Request& r : requests) {
      r.stored.fill(memory.data() + r.begin, executor);
      progress(r.end, total);
    }
    for (const Request& r : requests) r.set(memory.data() + r.begin);
    memory_ = std::move(memory);
  }

 private:
  static constexpr index_t align = static_cast<index_t>(detail::alignment);
  static constexpr std::size_t most_listed = 20;  // tensors of a kind in a message

  struct View {
    WeightMatrix* matrix = nullptr;
    VectorView<const float>* vector = nullptr;
  };
  static View view_of(WeightMatrix& view) { return {.matrix = &view}; }
  static View view_of(VectorView<const float>& view) { return {.vector = &view}; }

  struct Request {
    View view;
    StoredWeight stored;
    index_t begin = 0, end = 0;  // bytes of the memory

    void set(std::byte* filled) const {
      if (view.vector)
        *view.vector = VectorView<const float>(reinterpret_cast<float*>(filled), {stored.rows()});
      else
        *view.matrix = WeightMatrix(filled, stored.type(), stored.rows(), stored.columns(),
                                    WeightLayout::panels);
    }
  };
  ASHLAR_NOINLINE static void add(std::vector<Request>& requests, const NameTable& table,
                                  std::string_view name, View view,
                                  std::initializer_list<index_t> extents) {
    const std::size_t rank = view.matrix ? 2 : 1;
    if (extents.size() != rank)
      fail<ShapeError>("WeightStore: \"", name, "\" has ", extents.size(), " extents, expected ",
                       rank);
    requests.push_back({view, StoredWeight(name, table(name), extents)});
  }

  /// Gives every weight its bytes; returns how many they are together.
  static index_t place(std::vector<Request>& requests) {
    index_t total = 0;
    for (Request& r : requests) {
      r.begin = total;
      r.end = total += round_up(r.stored.bytes(), align);
    }
    return total;
  }

  /// The first of some texts, each once, as one text: a file that is not of this model has
  /// thousands.
  static std::string list_of(const std::vector<std::string>& texts) {
    const auto order = sorted_order(texts.size(), [&](std::size_t i, std::size_t j) {
      const int sign = texts[i].compare(texts[j]);
      return sign < 0 || (sign == 0 && i < j);
    });
    std::vector<char> repeated(texts.size());  // one tensor may hold several weights
    for (std::size_t i = 1; i < order.size(); ++i)
      repeated[order[i]] = texts[order[i]] == texts[order[i - 1]];
    std::string list;
    std::size_t count = 0;
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!repeated[i] && ++count <= most_listed) list += (list.empty() ? "" : ", ") + texts[i];
    return count <= most_listed ? list : join(list, ", .. and ", count - most_listed, " more");
  }

  static void find_tensors(const TensorSource& source, const NameMap& names,
                           std::vector<Request>& requests) {
    const std::vector<TensorInfo>& tensors = source.tensors();
    TensorFindings findings{std::vector<char>(tensors.size()), {}, {}};
    for (Request& r : requests) r.stored.find(source, findings);
    std::vector<std::string> extra;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (!findings.used[i] && !names.ignores(tensors[i].name))
        extra.push_back(detail::printable(tensors[i].name));
    std::string text;
    if (!findings.missing.empty()) text += "\n  missing: " + list_of(findings.missing);
    if (!extra.empty()) text += "\n  not expected: " + list_of(extra);
    if (!findings.wrong.empty()) text += "\n  wrong: " + list_of(findings.wrong);
    if (!text.empty()) fail<FileError>(source.path(), ": the tensors do not fit the model", text);
  }

  Buffer<std::byte> memory_;
};

}  // namespace ashlar::inline ASHLAR_ABI
