// Model: configuration, weights, and the memory that the weights lie in.
#pragma once

#include <ashlar/models/causal_lm.hpp>
#include <ashlar/weights/store.hpp>
#include <cstring>

namespace ashlar::inline ASHLAR_ABI {

template <class Lm>
struct Model {
  typename Lm::Config config;
  typename Lm::Weights weights;  // views into the store
  WeightStore store;
};

namespace detail {
/// A configuration may call the head tied although the file has a head of its own: then it is not.
/// In a wrapper it is the outer configuration that says so: there a head that is not stored is
/// tied.
template <class Config>
void settle_head(const TensorSource& source, bool wrapped, const NameMap& names, Config& config) {
  if constexpr (requires { config.tied_head; }) {
    const auto stored = [&](std::string_view weight) {
      const TensorInfo* tensor = nullptr;
      for (const NameRule& rule : names.model)
        if (rule.weight == weight) tensor = source.find(rule.stored);
      return tensor;
    };
    const TensorInfo *head = stored("head"), *embedding = stored("embedding");
    if (wrapped && !head) config.tied_head = true;
    if (config.tied_head && head && embedding && head->shape == embedding->shape)
      config.tied_head =
          head->bytes.size() == embedding->bytes.size() &&
          std::memcmp(head->bytes.data(), embedding->bytes.data(), head->bytes.size()) == 0;
  }
}
}  // namespace detail

/// Reads a model of a family (models/presets) from a checkpoint: every weight is found, checked and
/// packed. Throws FileError with all that does not fit in one message, ValueError for a setting
/// that is not supported.
template <class Family, class Checkpoint, class Progress>
auto load_model(const Checkpoint& checkpoint, const Executor& executor, Progress&& progress) {
  using Lm = typename Family::Lm;
  Model<Lm> model;
  model.config = Family::config(checkpoint);
  const NameMap names = Family::names(checkpoint, model.config);
  detail::settle_head(checkpoint.tensors(), checkpoint.wrapped(), names, model.config);
  model.store.load(
      checkpoint.tensors(), names, executor,
      [&](auto&& f) { Lm::visit(model.weights, model.config, f); }, progress);
  return model;
}
template <class Family, class Checkpoint>
auto load_model(const Checkpoint& checkpoint) {
  return load_model<Family>(checkpoint, Executor{}, [](index_t, index_t) {});
}

}  // namespace ashlar::inline ASHLAR_ABI
