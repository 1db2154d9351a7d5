// Loading and calling language models for the golden cases.
#pragma once

#include <algorithm>
#include <ashlar/models/language_model.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "case.hpp"
#include "common/families.hpp"

namespace golden {

using Floats = std::vector<float>;
using Ids = std::vector<std::int32_t>;
using IdsView = ashlar::MatrixView<const std::int32_t>;

/// Every family that the programs have.
struct Families {
  static bool contains(std::string_view name) { return ashlar::examples::is_known_family(name); }

  /// What the library says it does not support becomes Unsupported; every other error stays one.
  template <ashlar::Backend B>
  static std::unique_ptr<ashlar::LanguageModel> load(const std::string& path,
                                                     ashlar::Executor executor = {}) {
    const ashlar::Checkpoint checkpoint(path);
    ashlar::examples::ProgressLine progress("", true);
    try {
      return ashlar::examples::load_any_family(checkpoint, B::name, executor, progress);
    } catch (const ashlar::ValueError& error) {
      const std::string_view text = error.what();
      if (text.find("supported: ") == text.npos) throw;
      throw Unsupported{std::string(text)};
    }
  }
};

/// Keeps the stream that enters each layer.
struct Layers final : ashlar::LayerObserver {
  std::vector<Floats> streams;
  void observe(index_t, ashlar::MatrixView<const float> x) override {
    Floats& copy = streams.emplace_back();
    for (index_t m = 0; m < x.extent(0); ++m)
      for (index_t i = 0; i < x.extent(1); ++i) copy.push_back(x(m, i));
  }
};

/// Hidden rows of some more tokens [B, T].
inline Floats forward(ashlar::LanguageModel& lm, IdsView tokens,
                      ashlar::LayerObserver* observer = nullptr) {
  const index_t rows = tokens.extent(0) * tokens.extent(1), D = lm.info().d_model;
  Floats hidden(static_cast<std::size_t>(rows * D), NAN);
  lm.forward(tokens, ashlar::MatrixView<float>(hidden.data(), {rows, D}), observer);
  return hidden;
}
/// Logits of hidden rows.
inline Floats head(ashlar::LanguageModel& lm, const Floats& hidden) {
  const index_t D = lm.info().d_model, V = lm.info().vocabulary;
  const index_t rows = static_cast<index_t>(hidden.size()) / D;
  Floats logits(static_cast<std::size_t>(rows * V), NAN);
  lm.head(ashlar::MatrixView<const float>(hidden.data(), {rows, D}),
          ashlar::MatrixView<float>(logits.data(), {rows, V}));
  return logits;
}
/// Row m of rows of this width.
inline Floats row(const Floats& rows, index_t m, index_t width) {
  return {rows.begin() + m * width, rows.begin() + (m + 1) * width};
}
inline std::int32_t largest(const Floats& logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace golden
