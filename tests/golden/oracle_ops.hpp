// The double oracles on the golden cases: they must agree to the rounding of the stored values.
#pragma once

#include <gtest/gtest.h>

#include "../oracle/activations.hpp"
#include "../oracle/norms.hpp"
#include "../oracle/rope.hpp"
#include "../oracle/softmax.hpp"
#include "../support/compare.hpp"
#include "attention_case.hpp"

namespace golden::by_oracle {

using oracle::Vec;

/// Half a unit in the last place of a float, and a little for libraries of another make.
inline void expect_rounded(const OpCase& c, const char* tensor, const Vec& got,
                           double share = 0x1p-23) {
  const Vec expected = c.values<double>(tensor);
  Vec budget;
  for (const double y : expected) budget.push_back(share * std::abs(y) + 1e-44);
  const double largest = support::max_magnitude(expected);
  if (largest < 1e30)  // results near zero of larger terms
    for (double& b : budget) b += 1e-11 * largest;
  EXPECT_TRUE(support::all_within(got, expected, budget)) << tensor;
}

inline void rms_norm(const OpCase& c) {
  const bool bf16 = c.text("dtype", "f32") == "bf16";
  expect_rounded(c, "y",
                 oracle::rms_norm(c.values<double>("x"), c.shape("x")[0], c.shape("x")[1],
                                  c.number("eps", 1e-6), c.values_or_none<double>("weight"),
                                  c.text("order", "llama") == "gemma"),
                 bf16 ? 0x1p-7 : 0x1p-23);
}

inline void layer_norm(const OpCase& c) {
  expect_rounded(c, "y",
                 oracle::layer_norm(c.values<double>("x"), c.shape("x")[0], c.shape("x")[1],
                                    c.number("eps", 1e-5), c.values_or_none<double>("weight"),
                                    c.values_or_none<double>("bias"), c.flag("plus_one")));
}

inline void rope(const OpCase& c) {
  const index_t H = c.shape("x")[2], r = c.integer("rotary", H);
  const auto positions = c.values<index_t>("positions");
  oracle::RopeScaling s;
  if (const auto* scaling = c.setting("scaling")) {
    using oracle::Scaling;
    const std::map<std::string, Scaling> kinds = {
        {"linear", Scaling::linear},     {"dynamic", Scaling::dynamic},
        {"yarn", Scaling::yarn},         {"llama3", Scaling::llama3},
        {"longrope", Scaling::longrope}, {"proportional", Scaling::proportional}};
    const std::string kind = scaling->at("kind").as_string();
    if (!kinds.count(kind)) throw Unsupported{"rope scaling " + kind};
    s.kind = kinds.at(kind);
    const auto number = [&](const char* key, double otherwise) {
      const auto* value = scaling->find(key);
      return value ? value->as_number(key) : otherwise;
    };
    const auto list = [&](const char* key) {
      Vec values;
      if (const auto* value = scaling->find(key))
        for (const auto& item : value->items(key)) values.push_back(item.as_number(key));
      return values;
    };
    s.factor = number("factor", 1);
    s.original = number("original", 0);
    s.maximum = number("max", 0);
    s.length = static_cast<double>(
        c.integer("length", *std::max_element(positions.begin(), positions.end()) + 1));
    s.low = number("low", 1);
    s.high = number("high", 4);
    s.beta_fast = number("beta_fast", 32);
    s.beta_slow = number("beta_slow", 1);
    if (const auto* truncate = scaling->find("truncate")) s.truncate = truncate->as_bool();
    if (scaling->find("mscale")) s.mscale = number("mscale", 1);
    if (scaling->find("mscale_all_dim")) s.mscale_all_dim = number("mscale_all_dim", 1);
    s.short_factors = list("short");
    s.long_factors = list("long");
    s.fraction = number("fraction", 1);
  }
  const auto table = oracle::rope_table(c.number("theta", 1e4), r, H, s);
  expect_rounded(c, "inv_freq", table.inverse_frequencies, 1e-13);
  expect_rounded(c, "attention_factor", {table.attention_factor});
  expect_rounded(c, "y",
                 oracle::rope(c.values<double>("x"), positions, c.shape("x")[1], H, table,
                              c.text("pairing", "half_split") == "interleaved"));
}

inline double (*activation(const std::string& kind))(double) {
  const std::map<std::string, double (*)(double)> functions = {
      {"gelu_erf", oracle::gelu_erf},
      {"gelu_tanh", oracle::gelu_tanh},
      {"gelu_quick", oracle::gelu_quick},
      {"silu", oracle::silu},
      {"relu", oracle::relu},
      {"relu_squared", oracle::relu_squared},
      {"sigmoid", oracle::sigmoid},
      {"softplus", oracle::softplus},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"identity", [](double x) { return x; }}};
  const auto found = functions.find(kind);
  if (found == functions.end()) throw Unsupported{"activation " + kind};
  return found->second;
}

inline void activations(const OpCase& c) {
  Vec x = c.values<double>("x");
  for (double& a : x) a = activation(c.text("kind", ""))(a);
  const Vec expected = c.values<double>("y");
  Vec budget;
  for (const double y : expected) budget.push_back(0x1p-23 * std::abs(y) + 1e-44);
  EXPECT_TRUE(support::all_within(x, expected, budget));
}

inline void glu(const OpCase& c) {
  const Vec gate = c.values<double>("gate"), up = c.values<double>("up");
  const std::string kind = c.text("kind", "");
  const std::map<std::string, std::string> gates = {
      {"glu", "sigmoid"},        {"bilinear", "identity"},    {"reglu", "relu"},
      {"geglu_erf", "gelu_erf"}, {"geglu_tanh", "gelu_tanh"}, {"swiglu", "silu"}};
  if (kind == "swiglu_clamped")
    return expect_rounded(
        c, "y", oracle::swiglu_clamped(gate, up, c.number("limit", 7), c.number("alpha", 1.702)));
  if (!gates.count(kind)) throw Unsupported{"gated unit " + kind};
  expect_rounded(c, "y", oracle::gated(gate, up, activation(gates.at(kind))));
}

inline void softmax(const OpCase& c) {
  const Vec x = c.values<double>("x");
  const index_t M = c.shape("x")[0], D = c.shape("x")[1];
  expect_rounded(c, "y", oracle::softmax(x, M, D));
  Vec lse;
  for (index_t m = 0; m < M; ++m) lse.push_back(oracle::log_sum_exp(x.data() + m * D, D));
  expect_rounded(c, "log_sum_exp", lse);
}

inline void alibi_slopes(const OpCase& c) {
  expect_rounded(c, "slopes",
                 oracle::alibi_slopes(c.integer("heads", 0), c.text("order", "bloom") == "mpt",
                                      c.number("maximum", 8)));
}

inline void t5_buckets(const OpCase& c) {
  Vec got;
  for (const index_t d : c.values<index_t>("distance"))
    got.push_back(static_cast<double>(oracle::t5_bucket(
        d, c.flag("bidirectional"), c.integer("buckets", 32), c.integer("maximum", 128))));
  EXPECT_TRUE(support::all_close(got, c.values<double>("bucket"), 0));
}

inline void attention(const OpCase& op_case) {
  const AttentionCase c(op_case);
  const auto doubles = [](const std::vector<float>& v) { return Vec(v.begin(), v.end()); };
  const auto r = oracle::attention(doubles(c.q), doubles(c.k), doubles(c.v), c.shape, c.options);
  expect_rounded(op_case, "out", r.out);
  expect_rounded(op_case, "lse", r.lse);
  if (!op_case.has("mask")) return;
  const auto& s = c.shape;
  for (index_t b = 0; b < s.B; ++b)
    for (index_t i = 0; i < s.T; ++i)
      for (index_t j = 0; j < s.S; ++j) {
        const bool seen = c.visible[oracle::to_size((b * s.T + i) * s.S + j)] != 0;
        ASSERT_EQ(oracle::sees(s, c.options, b, 0, i, j), seen) << b << ' ' << i << ' ' << j;
      }
}

}  // namespace golden::by_oracle
