#include <ashlar/ops/rope_scaling.hpp>
#include <numeric>

#include "pictures.hpp"

namespace ashlar::examples {
namespace {

namespace rules = rope_scaling;

constexpr index_t width = 128, trained = 4096, stretched = 4 * trained;

struct NamedRule {
  const char* name;
  RopeRule rule;
};
std::vector<NamedRule> all_rules() {
  rules::Yarn yarn{.factor = 4, .original = trained};
  yarn.magnitude = rules::Yarn::usual_magnitude(4);
  // LongRoPE's factors are searched for each model; these rise evenly from 1 to 4.
  rules::LongRope longrope;
  longrope.original = trained;
  longrope.magnitude = rules::LongRope::usual_magnitude(trained, stretched);
  std::vector<double> factors;
  for (index_t i = 0; i < width / 2; ++i)
    factors.push_back(1 + 3 * static_cast<double>(i) / (width / 2 - 1));
  longrope.short_factors = std::vector<double>(factors.size(), 1);
  longrope.long_factors = factors;
  const auto rule = [](RopeScaling scaling) { return RopeRule{10000.0, width, scaling}; };
  return {{"none", rule({})},
          {"linear", rule(rules::Linear{4})},
          {"dynamic", rule(rules::Dynamic{4, trained})},
          {"yarn", rule(yarn)},
          {"llama3", rule(rules::Llama3{4, trained, 1, 4})},
          {"longrope", rule(longrope)},
          {"proportional", rule(rules::Proportional{width / 8})}};
}

/// A query and a key of ones, the key `distance` tokens before the query: their dot product over
/// the width, which is the mean over all pairs of equal query and key.
std::vector<double> products(const RopeRule& rule) {
  std::vector<index_t> positions(stretched);
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<float> table(static_cast<std::size_t>(stretched * width));
  const TensorView<float, 3> angles(table.data(), {stretched, 2, width / 2});
  rope_table(rule.frequencies(stretched), VectorView<const index_t>(positions.data(), {stretched}),
             angles);
  std::vector<float> x(static_cast<std::size_t>(stretched * width), 1.f);
  Context<backend::ScalarCpu> ctx;
  rope(ctx, TensorView<const float, 3>(angles), RopePairing::half_split,
       TensorView<float, 3>(x.data(), {stretched, 1, width}));
  std::vector<double> dots;
  for (index_t m = 0; m < stretched; ++m) {
    double sum = 0;
    for (index_t i = 0; i < width; ++i)
      sum += static_cast<double>(x[static_cast<std::size_t>(i)]) *
             static_cast<double>(x[static_cast<std::size_t>(m * width + i)]);
    dots.push_back(sum / width);
  }
  return dots;
}

}  // namespace

void write_rope(const std::string& folder) {
  std::string names;
  std::vector<std::vector<double>> frequencies, dots;
  for (const NamedRule& r : all_rules()) {
    names += join(",", r.name);
    frequencies.push_back(r.rule.frequencies(stretched).inverse);
    dots.push_back(products(r.rule));
  }
  const auto write = [&](const std::string& file, const char* first, const auto& columns) {
    Csv csv(folder + file, first + names);
    for (std::size_t i = 0; i < columns.front().size(); ++i) {
      std::vector<double> row{static_cast<double>(i)};
      for (const auto& column : columns) row.push_back(column[i]);
      csv.row(row);
    }
    csv.finish();
  };
  write("/rope_frequencies.csv", "pair", frequencies);
  write("/rope.csv", "distance", dots);
}

}  // namespace ashlar::examples
