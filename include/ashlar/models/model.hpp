// Model: configuration, weights, and the memory that the weights lie in.
#pragma once

#include <ashlar/models/causal_lm.hpp>
#include <ashlar/weights/store.hpp>

namespace ashlar::inline ASHLAR_ABI {

template <class Lm>
struct Model {
  typename Lm::Config config;
  typename Lm::Weights weights;  // views into the store
  WeightStore store;
};

/// Reads a model of a family (models/presets) from a checkpoint: every weight is found, checked and
/// packed. Throws FileError with all that does not fit in one message, ValueError for a setting
/// that is not supported.
template <class Family, class Checkpoint, class Progress>
auto load_model(const Checkpoint& checkpoint, const Executor& executor, Progress&& progress) {
  using Lm = typename Family::Lm;
  Model<Lm> model;
  model.config = Family::config(checkpoint);
  model.store.load(
      checkpoint.tensors(), Family::names(checkpoint, model.config), executor,
      [&](auto&& f) { Lm::visit(model.weights, model.config, f); }, progress);
  return model;
}
template <class Family, class Checkpoint>
auto load_model(const Checkpoint& checkpoint) {
  return load_model<Family>(checkpoint, Executor{}, [](index_t, index_t) {});
}

}  // namespace ashlar::inline ASHLAR_ABI
