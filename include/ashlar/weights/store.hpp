// WeightStore: owns the weights of a model, packed for the kernels.
#pragma once

#include <ashlar/core/buffer.hpp>
#include <ashlar/weights/stored_weight.hpp>
#include <set>

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
      constexpr std::size_t rank = std::is_same_v<decltype(view), WeightMatrix&> ? 2 : 1;
      if (extents.size() != rank)
        fail<ShapeError>("WeightStore: \"", name, "\" has ", extents.size(), " extents, expected ",
                         rank);
      requests.push_back({view_of(view), StoredWeight(name, table(name), extents)});
    });
    find_tensors(source, names, requests);

    index_t total = 0;
    for (const Request& r : requests) total += round_up(r.stored.bytes(), align);
    Buffer<std::byte> memory(total);
    index_t done = 0;
    for (const Request& r : requests) {
      r.stored.fill(memory.data() + done, executor);
      done += round_up(r.stored.bytes(), align);
      progress(done, total);
    }
    std::byte* at = memory.data();
    for (const Request& r : requests) {
      r.set(at);
      at += round_up(r.stored.bytes(), align);
    }
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

    void set(std::byte* filled) const {
      if (view.vector)
        *view.vector = VectorView<const float>(reinterpret_cast<float*>(filled), {stored.rows()});
      else
        *view.matrix = WeightMatrix(filled, stored.type(), stored.rows(), stored.columns(),
                                    WeightLayout::panels);
    }
  };

  static void find_tensors(const TensorSource& source, const NameMap& names,
                           std::vector<Request>& requests) {
    struct List {
      std::string first;  // of them: a file that is not of this model has thousands
      std::set<std::string> items;
      void add(const std::string& item) {
        if (!items.insert(item).second) return;  // one tensor may hold several weights
        if (items.size() <= most_listed) first += (first.empty() ? "" : ", ") + item;
      }
      std::string text() const {
        return items.size() <= most_listed
                   ? first
                   : join(first, ", .. and ", items.size() - most_listed, " more");
      }
    } missing, wrong, extra;
    std::set<std::string, std::less<>> used;
    for (Request& r : requests)
      r.stored.find(
          source, [&](std::string name) { used.insert(std::move(name)); },
          [&](const std::string& name) { missing.add(name); },
          [&](const std::string& text) { wrong.add(text); });
    for (const TensorInfo& t : source.tensors())
      if (!used.contains(t.name) && !names.ignores(t.name)) extra.add(t.name);
    std::string text;
    if (!missing.items.empty()) text += "\n  missing: " + missing.text();
    if (!extra.items.empty()) text += "\n  not expected: " + extra.text();
    if (!wrong.items.empty()) text += "\n  wrong: " + wrong.text();
    if (!text.empty()) fail<FileError>(source.path(), ": the tensors do not fit the model", text);
  }

  Buffer<std::byte> memory_;
};

}  // namespace ashlar::inline ASHLAR_ABI
