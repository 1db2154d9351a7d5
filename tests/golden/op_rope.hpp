// Golden cases of rotary and sinusoidal positions on one backend.
#pragma once

#include <ashlar/nn/position/sinusoidal.hpp>
#include <ashlar/ops/rope_scaling.hpp>

#include "op_rows.hpp"

namespace golden {

/// Rotates with the frequencies of the case; plain ones must also come from rope_frequencies.
template <class B>
void rope(const OpCase& c) {
  c.allow_settings(
      {"rotary", "theta", "pairing", "scaling", "heads", "length", "gradient", "positions", "dim"});
  const index_t M = c.shape("x")[0], N = c.shape("x")[1], H = c.shape("x")[2];
  const auto positions = c.values<index_t>("positions");
  ashlar::RopeFrequencies frequencies{c.values<double>("inv_freq"),
                                      c.values<double>("attention_factor").at(0)};
  if (!c.setting("scaling")) {
    const auto plain = ashlar::rope_frequencies(c.number("theta", 1e4), c.integer("rotary", H));
    std::vector<double> budget;
    for (const double f : frequencies.inverse) budget.push_back(1e-14 * f);
    EXPECT_TRUE(support::all_within(plain.inverse, frequencies.inverse, budget));
    EXPECT_EQ(plain.magnitude, frequencies.magnitude);
  }
  const std::string pairing = c.text("pairing", "half_split");
  if (pairing != "half_split" && pairing != "interleaved") throw Unsupported{"pairing " + pairing};

  const auto pairs = static_cast<index_t>(frequencies.inverse.size());
  Floats table(static_cast<std::size_t>(M * 2 * pairs), NAN);
  const ashlar::TensorView<float, 3> table_view(table.data(), {M, 2, pairs});
  ashlar::rope_table(frequencies, vector_view(positions), table_view);
  ashlar::Context<B> ctx;
  Floats first;
  for (const index_t gap : {index_t{0}, index_t{3}}) {
    support::PoisonedTensor<float, 3> x({M, N, H}, gap, 2 * gap);
    x.assign(std::span<const float>(c.values<float>("x")));
    ashlar::rope(ctx, ashlar::TensorView<const float, 3>(table_view),
                 pairing == "interleaved" ? ashlar::RopePairing::interleaved
                                          : ashlar::RopePairing::half_split,
                 view(x));
    const auto y = x.values<Floats>();
    if (gap == 0) first = y;
    EXPECT_TRUE(support::same_bits(y, first)) << "gap " << gap;
    EXPECT_TRUE(x.gaps_intact());
  }
  expect_golden(c, "y", first);
}

/// Frequencies that a scaling rule makes, in double; a test of its own, so that a rule that is
/// missing shows.
inline void rope_scaling(const OpCase& c) {
  const auto& scaling = *c.setting("scaling");
  const auto number = [&](const char* key, double otherwise) {
    const auto* value = scaling.find(key);
    return value ? value->as_number(key) : otherwise;
  };
  namespace rules = ashlar::rope_scaling;
  ashlar::RopeRule rule{c.number("theta", 1e4), c.integer("rotary", c.shape("x")[2]), {}};
  const auto list = [&](const char* key) {
    std::vector<double> values;
    for (const auto& item : scaling.at(key).items(key)) values.push_back(item.as_number(key));
    return values;
  };
  const double factor = number("factor", 1), original = number("original", 0);
  const std::string kind = scaling.at("kind").as_string();
  if (kind == "linear") {
    rule.scaling = rules::Linear{factor};
  } else if (kind == "dynamic") {
    rule.scaling = rules::Dynamic{factor, original};
  } else if (kind == "llama3") {
    rule.scaling = rules::Llama3{factor, original, number("low", 1), number("high", 4)};
  } else if (kind == "yarn") {
    const auto* truncate = scaling.find("truncate");
    const double mscale = number("mscale", 1), all_dim = number("mscale_all_dim", 0);
    rule.scaling = rules::Yarn{factor,
                               original,
                               number("beta_fast", 32),
                               number("beta_slow", 1),
                               !truncate || truncate->as_bool(),
                               rules::Yarn::usual_magnitude(factor, mscale) /
                                   rules::Yarn::usual_magnitude(factor, all_dim)};
  } else if (kind == "longrope") {
    rule.scaling =
        rules::LongRope{list("short"), list("long"), original,
                        rules::LongRope::usual_magnitude(original, number("max", original))};
  } else if (kind == "proportional") {
    const double angles = number("fraction", 1) * static_cast<double>(rule.width);
    rule.scaling = rules::Proportional{static_cast<index_t>(angles) / 2};
  } else {
    throw Unsupported{"rope scaling " + kind + " is not implemented yet"};
  }
  const auto positions = c.values<index_t>("positions");
  const auto got = rule.frequencies(
      c.integer("length", *std::max_element(positions.begin(), positions.end()) + 1));
  const auto expected = c.values<double>("inv_freq");
  std::vector<double> budget;
  for (const double f : expected) budget.push_back(1e-12 * f);
  EXPECT_TRUE(support::all_within(got.inverse, expected, budget));
  EXPECT_EQ(static_cast<float>(got.magnitude), c.values<float>("attention_factor").at(0));
}

template <class B>
void sinusoidal(const OpCase& c) {
  c.allow_settings({"base", "length", "dim", "layout"});
  const std::string layout = c.text("layout", "neighbours");
  if (layout != "neighbours" && layout != "halves") throw Unsupported{"layout " + layout};
  ashlar::SinusoidalPosition::Config config{.base = c.number("base", 1e4)};
  if (layout == "halves") {
    config.layout = ashlar::SinusoidLayout::halves;
    config.reach_base = true;
  }
  const index_t M = c.shape("table")[0], D = c.shape("table")[1];
  Floats table(static_cast<std::size_t>(M * D), 0.f);
  ashlar::Context<B> ctx;
  ashlar::SinusoidalPosition::apply(ctx, config, {}, ashlar::TokenBatch(1, M),
                                    ashlar::MatrixView<float>(table.data(), {M, D}));
  expect_golden(c, "table", table);
}

}  // namespace golden
