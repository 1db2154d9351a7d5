// A golden encoder, encoder-decoder or vision model: inputs, and every expected tensor once.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>
#include <cmath>
#include <set>
#include <sstream>

#include "../support/compare.hpp"
#include "model_case.hpp"

namespace golden {

using Floats = std::vector<float>;
using Ids = std::vector<std::int32_t>;
using Lengths = std::vector<index_t>;

/// Compares tensors by name, each within 8 times the error of the reference's own float32 run plus
/// 2e-6 of its largest element, and knows at the end which were forgotten.
class EncoderCase {
 public:
  explicit EncoderCase(const ModelCase& c)
      : case_(c),
        errors_(ashlar::Json::parse(text("f32_error_by_tensor"), "f32_error_by_tensor")),
        normed_(ashlar::Json::parse(text("final_state_is_last_hidden_state"), "final_state")) {
    std::istringstream inputs(text("inputs"));
    for (std::string name; inputs >> name;) done_.insert(name);
  }

  const ModelCase& model() const { return case_; }
  bool has(const std::string& tensor) const { return case_.expected().find(tensor) != nullptr; }
  const std::vector<index_t>& shape(const std::string& tensor) const {
    return case_.expected().at(tensor).shape;
  }
  Ids ids(const std::string& tensor) const { return case_.expected<std::int32_t>(tensor); }
  Floats floats(const std::string& tensor) const { return case_.expected<float>(tensor); }

  /// The lengths that a mask [B, T] of ones, then zeros, says.
  Lengths lengths_of(const std::string& mask) const {
    const index_t T = shape(mask)[1];
    const Ids values = ids(mask);
    Lengths lengths;
    for (index_t b = 0; b < shape(mask)[0]; ++b) {
      index_t n = 0;
      while (n < T && values[at(b * T + n)] != 0) ++n;
      for (index_t t = n; t < T; ++t)
        if (values[at(b * T + t)] != 0) throw Unsupported{mask + " has a hole"};
      lengths.push_back(n);
    }
    return lengths;
  }

  /// With lengths the first two extents are B and T, and only rows of true tokens count.
  void expect(const std::string& tensor, const Floats& got, const Lengths& lengths = {}) {
    done_.insert(tensor);
    const Floats expected = floats(tensor);
    ASSERT_EQ(got.size(), expected.size()) << tensor;
    Floats got_rows, expected_rows;
    const index_t batch = shape(tensor)[0], rows = lengths.empty() ? 1 : shape(tensor)[1],
                  width = static_cast<index_t>(expected.size()) / (batch * rows);
    for (index_t m = 0; m < batch * rows; ++m) {
      if (!lengths.empty() && m % rows >= lengths[at(m / rows)]) continue;
      const auto append = [&](const Floats& from, Floats& to) {
        to.insert(to.end(), from.begin() + m * width, from.begin() + (m + 1) * width);
      };
      append(got, got_rows);
      append(expected, expected_rows);
    }
    ASSERT_FALSE(expected_rows.empty()) << tensor;
    const double tolerance =
        8 * errors_.at(tensor).as_number() + 2e-6 * support::max_magnitude(expected_rows);
    EXPECT_TRUE(support::all_close(got_rows, expected_rows, tolerance)) << tensor;
    for (std::size_t i = 0; i < got_rows.size(); ++i)
      largest_error =
          std::max(largest_error, std::fabs(double{got_rows[i]} - double{expected_rows[i]}));
  }
  /// Of any element of any case since it was set to 0: docs/families.md shows it.
  static inline double largest_error = 0;
  /// prefix.0 .. prefix.L: `streams` are what enters each layer and what leaves the last; `output`
  /// is what follows after the final norm.
  void expect_states(const std::string& prefix, const std::vector<Floats>& streams,
                     const Floats& output, const Lengths& lengths = {}) {
    EXPECT_FALSE(has(prefix + "." + std::to_string(streams.size()))) << prefix;
    const bool normed = normed_.at(prefix).as_bool();
    for (std::size_t i = 0; i < streams.size(); ++i)
      expect(prefix + "." + std::to_string(i),
             normed && i + 1 == streams.size() ? output : streams[i], lengths);
  }
  /// Nothing that the file holds was left out.
  void expect_complete() const {
    for (const auto& tensor : case_.expected().tensors())
      EXPECT_TRUE(done_.count(tensor.name)) << tensor.name << " was not compared";
  }

  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

 private:
  std::string text(const std::string& key) const {
    const auto found = case_.expected().metadata().find(key);
    if (found == case_.expected().metadata().end())
      ashlar::fail<ashlar::FileError>(case_.folder(), ": no metadata ", key);
    return found->second;
  }

  const ModelCase& case_;
  ashlar::Json errors_, normed_;
  std::set<std::string> done_;
};

/// Keeps copies of the streams that an observer is shown.
struct Streams {
  std::vector<Floats> list;
  auto observer() {
    return [this](index_t, auto x) {
      Floats& copy = list.emplace_back();
      for (index_t m = 0; m < x.extent(0); ++m)
        copy.insert(copy.end(), x.row(m), x.row(m) + x.extent(1));
    };
  }
};

/// Loads a family's model; what the library says it does not support becomes Unsupported.
template <class Family>
ashlar::Model<typename Family::Lm> load_case(const ModelCase& c) {
  try {
    return ashlar::load_model<Family>(ashlar::Checkpoint(c.folder()));
  } catch (const ashlar::ValueError& error) {
    if (std::string_view(error.what()).find("supported: ") == std::string_view::npos) throw;
    throw Unsupported{error.what()};
  }
}

inline ashlar::MatrixView<float> matrix(Floats& values, index_t rows) {
  return {values.data(), {rows, rows ? static_cast<index_t>(values.size()) / rows : 0}};
}
inline Floats zeros(index_t rows, index_t width) {
  return Floats(EncoderCase::at(rows * width), NAN);
}

}  // namespace golden
