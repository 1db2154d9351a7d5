// Scaled rotary frequencies against formulas in double, over parameters that published models have
// and the edges of each rule.
#include <gtest/gtest.h>

#include <ashlar/ops/rope_scaling.hpp>

#include "oracle/rope.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar;
namespace rules = ashlar::rope_scaling;

/// Two orders of rounding apart, no more.
void expect_table(const RopeFrequencies& got, const oracle::RopeTable& expected) {
  std::vector<double> budget;
  for (const double f : expected.inverse_frequencies) budget.push_back(1e-13 * f);
  EXPECT_TRUE(support::all_within(got.inverse, expected.inverse_frequencies, budget));
  EXPECT_NEAR(got.magnitude, expected.attention_factor, 1e-15);
}

oracle::RopeScaling scaling(oracle::Scaling kind, double factor, double original = 0,
                            double length = 0) {
  oracle::RopeScaling s;
  s.kind = kind;
  s.factor = factor;
  s.original = original;
  s.length = length;
  return s;
}

struct Width {
  double theta;
  index_t width;
};
constexpr Width widths[] = {{10000.0, 64}, {500000.0, 128}, {700.0, 12}, {1e6, 4}};

TEST(RopeScaling, LinearDividesAll) {
  for (const auto [theta, width] : widths)
    for (const double factor : {1.0, 2.5, 8.0}) {
      const RopeRule rule{theta, width, rules::Linear{factor}};
      expect_table(
          rule.frequencies(1000),
          oracle::rope_table(theta, width, width, scaling(oracle::Scaling::linear, factor)));
      EXPECT_FALSE(rule.depends_on_length());
    }
}

TEST(RopeScaling, DynamicIsPlainUpToTheTrainedLength) {
  for (const auto [theta, width] : widths) {
    const RopeRule rule{theta, width, rules::Dynamic{2.5, 100}};
    EXPECT_TRUE(rule.depends_on_length());
    const auto plain = RopeRule{theta, width, {}}.frequencies();
    EXPECT_TRUE(support::same_bits(rule.frequencies(1).inverse, plain.inverse));
    EXPECT_TRUE(support::same_bits(rule.frequencies(100).inverse, plain.inverse));
    for (const index_t length : {101, 250, 100000})
      expect_table(rule.frequencies(length),
                   oracle::rope_table(
                       theta, width, width,
                       scaling(oracle::Scaling::dynamic, 2.5, 100, static_cast<double>(length))));
    EXPECT_LT(rule.frequencies(101).inverse[1], plain.inverse[1]);
  }
}

TEST(RopeScaling, YarnWithAndWithoutRounding) {
  for (const auto [theta, width] : widths)
    for (const double factor : {1.0, 4.0, 40.0})
      for (const double original : {48.0, 4096.0})
        for (const bool truncate : {true, false}) {
          auto expected = scaling(oracle::Scaling::yarn, factor, original);
          expected.beta_fast = 20;
          expected.beta_slow = 2;
          expected.truncate = truncate;
          const RopeRule rule{
              theta, width,
              rules::Yarn{factor, original, 20, 2, truncate, rules::Yarn::usual_magnitude(factor)}};
          expect_table(rule.frequencies(7), oracle::rope_table(theta, width, width, expected));
        }
  EXPECT_EQ(rules::Yarn::usual_magnitude(0.5), 1.0);
  EXPECT_NEAR(rules::Yarn::usual_magnitude(40, 0.707), 0.0707 * std::log(40.0) + 1, 1e-15);
}

TEST(RopeScaling, Llama3HasThreeBands) {
  for (const auto [theta, width] : widths)
    for (const double original : {48.0, 8192.0}) {
      const RopeRule rule{theta, width, rules::Llama3{8, original, 1, 4}};
      expect_table(
          rule.frequencies(7),
          oracle::rope_table(theta, width, width, scaling(oracle::Scaling::llama3, 8, original)));
    }
}

TEST(RopeScaling, DivisorsAreOneAPair) {
  const RopeRule rule{10000.0, 4, rules::Divisors{{1.0, 8.0}}};
  EXPECT_NEAR(rule.frequencies().inverse[0], 1.0, 1e-15);
  EXPECT_NEAR(rule.frequencies().inverse[1], 0.01 / 8, 1e-16);
  const RopeRule wrong{10000.0, 6, rules::Divisors{{1.0, 8.0}}};
  EXPECT_THROW(wrong.frequencies(), ShapeError);
}

TEST(RopeScaling, LongRopeChangesFactorsBeyondTheTrainedLength) {
  for (const auto [theta, width] : widths) {
    auto expected = scaling(oracle::Scaling::longrope, 1, 300);
    for (index_t i = 0; i < width / 2; ++i) {
      expected.short_factors.push_back(1 + 0.1 * static_cast<double>(i));
      expected.long_factors.push_back(2 + 0.7 * static_cast<double>(i));
    }
    expected.maximum = 4000;
    const RopeRule rule{theta, width,
                        rules::LongRope{expected.short_factors, expected.long_factors, 300,
                                        rules::LongRope::usual_magnitude(300, 4000)}};
    EXPECT_TRUE(rule.depends_on_length());
    for (const index_t length : {0, 1, 299, 300, 301, 302, 4000, 4001}) {
      expected.length = static_cast<double>(length);
      expect_table(rule.frequencies(length), oracle::rope_table(theta, width, width, expected));
    }
    EXPECT_LT(rule.frequencies(301).inverse[0], rule.frequencies(300).inverse[0]);
  }
  EXPECT_NEAR(rules::LongRope::usual_magnitude(4096, 131072), 1.1902380714238083, 1e-14);  // Phi-3
  EXPECT_EQ(rules::LongRope::usual_magnitude(4096, 4096), 1.0);
  EXPECT_EQ(rules::LongRope::usual_magnitude(4096, 100), 1.0);
  const RopeRule wrong{10000.0, 4, rules::LongRope{{1, 1}, {1}, 10, 1}};
  EXPECT_NO_THROW(wrong.frequencies(10));
  EXPECT_THROW(wrong.frequencies(11), ShapeError);
}

TEST(RopeScaling, ProportionalTurnsTheFirstPairsOfTheFullWidth) {
  for (const auto [theta, width] : widths)
    for (const double fraction : {0.0, 0.25, 0.5, 1.0}) {
      auto expected = scaling(oracle::Scaling::proportional, 1);
      expected.fraction = fraction;
      const auto pairs = static_cast<index_t>(fraction * static_cast<double>(width)) / 2;
      const RopeRule rule{theta, width, rules::Proportional{pairs}};
      expect_table(rule.frequencies(7), oracle::rope_table(theta, width, width, expected));
      EXPECT_FALSE(rule.depends_on_length());
    }
  EXPECT_THROW((RopeRule{10000.0, 8, rules::Proportional{5}}.frequencies()), ValueError);
  EXPECT_THROW((RopeRule{10000.0, 8, rules::Proportional{-1}}.frequencies()), ValueError);
}

TEST(RopeScaling, SectionsOfTextChangeNothing) {
  const RopeRule rule{10000.0, 32, rules::Sections{{4, 6, 6}}};
  EXPECT_TRUE(support::same_bits(rule.frequencies(9).inverse,
                                 RopeRule{10000.0, 32, {}}.frequencies(9).inverse));
  EXPECT_FALSE(rule.depends_on_length());
  EXPECT_THROW((RopeRule{10000.0, 32, rules::Sections{{4, 6, 5}}}.frequencies()), ShapeError);
  EXPECT_THROW((RopeRule{10000.0, 32, rules::Sections{{18, -2}}}.frequencies()), ValueError);
}

TEST(RopeRule, EqualMeansTheSameTable) {
  const RopeRule rule{10000.0, 64, rules::Linear{2}};
  EXPECT_EQ(rule, (RopeRule{10000.0, 64, rules::Linear{2}}));
  EXPECT_NE(rule, (RopeRule{10000.0, 64, rules::Linear{3}}));
  EXPECT_NE(rule, (RopeRule{10000.0, 32, rules::Linear{2}}));
  EXPECT_NE(rule, (RopeRule{10001.0, 64, rules::Linear{2}}));
  EXPECT_NE(rule, (RopeRule{10000.0, 64, {}}));
  const rules::LongRope stretched{{1, 2}, {3, 4}, 8, 1.5};
  EXPECT_EQ((RopeRule{1e4, 4, stretched}), (RopeRule{1e4, 4, stretched}));
  EXPECT_NE((RopeRule{1e4, 4, stretched}),
            (RopeRule{1e4, 4, rules::LongRope{{1, 2}, {3, 5}, 8, 1.5}}));
  EXPECT_NE((RopeRule{1e4, 4, rules::Proportional{1}}), (RopeRule{1e4, 4, rules::Proportional{2}}));
  EXPECT_NE((RopeRule{1e4, 4, rules::Linear{2}}), (RopeRule{1e4, 4, rules::Divisors{{2, 2}}}));
  EXPECT_THROW(RopeRule{}.frequencies(), ValueError);  // a width must be given
  EXPECT_EQ((RopeRule{10000.0, 0, {}}.frequencies().inverse.size()), 0u);
}

TEST(RopeRule, SaysWhichLengthCounts) {
  const RopeRule plain{1e4, 4, {}}, linear{1e4, 4, rules::Linear{2}};
  const RopeRule dynamic{1e4, 4, rules::Dynamic{2, 8}};
  const RopeRule longrope{1e4, 4, rules::LongRope{{1, 2}, {3, 4}, 8, 1}};
  EXPECT_FALSE(plain.depends_on_length());
  EXPECT_FALSE(linear.depends_on_length());
  EXPECT_TRUE(dynamic.depends_on_length());
  EXPECT_TRUE(longrope.depends_on_length());
  EXPECT_EQ(dynamic.length_of(5, 9), 5);   // the call's
  EXPECT_EQ(longrope.length_of(5, 9), 9);  // the sequence's
  EXPECT_EQ(longrope.length_of(5, 0), 5);  // not known
}

struct Reversed {  // a rule of one's own
  int turns = 1;
  bool operator==(const Reversed&) const = default;
  void apply(ashlar::RopeFrequencies& f, double, index_t, index_t) const {
    for (double& x : f.inverse) x *= -turns;
  }
};

TEST(RopeRule, TakesARuleOfOnesOwn) {
  const ashlar::RopeScaling scaling = Reversed{2};
  EXPECT_EQ(scaling, ashlar::RopeScaling(Reversed{2}));
  EXPECT_NE(scaling, ashlar::RopeScaling(Reversed{3}));
  EXPECT_NE(scaling, ashlar::RopeScaling(rules::Linear{2}));
  ASSERT_NE(scaling.get_if<Reversed>(), nullptr);
  EXPECT_EQ(scaling.get_if<Reversed>()->turns, 2);
  EXPECT_EQ(scaling.get_if<rules::Linear>(), nullptr);
  EXPECT_EQ(ashlar::RopeScaling().get_if<rules::Linear>(), nullptr);
  EXPECT_EQ((RopeRule{100.0, 4, scaling}.frequencies().inverse), (std::vector<double>{-2, -0.2}));
}

}  // namespace
