// Golden cases of norms, activations, gated units and softmax on one backend.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/t5_bias.hpp>
#include <ashlar/ops/activation.hpp>
#include <ashlar/ops/layer_norm.hpp>
#include <ashlar/ops/rms_norm.hpp>
#include <ashlar/ops/softmax.hpp>
#include <cfloat>
#include <map>

#include "case.hpp"
#include "views.hpp"

namespace golden {

using Floats = std::vector<float>;

inline void expect_golden(const OpCase& c, const char* tensor, const Floats& got) {
  EXPECT_TRUE(support::all_close_to_largest(got, c.values<float>(tensor), tolerance_factor(c)))
      << tensor;
}
/// The tolerance for every element by itself: where magnitudes differ by powers of ten, a share of
/// the largest one would hide the rest. Results below the normal range may be flushed.
inline void expect_golden_each(const OpCase& c, const char* tensor, const Floats& got,
                               double unit = 1) {
  const auto expected = c.values<double>(tensor);
  std::vector<double> budget;
  for (const double y : expected)
    budget.push_back(tolerance_factor(c) * std::abs(y) + unit * double{FLT_MIN});
  EXPECT_TRUE(support::all_within(got, expected, budget)) << tensor;
}

template <class B, class T>
std::vector<T> run_rms_norm(const std::string& order, const std::vector<T>& x, index_t M, index_t D,
                            const Floats& gain, float eps) {
  ashlar::Context<B> ctx;
  const auto with = [&]<class Gain>(Gain) {
    return run_rows(x, M, D, [&](auto in, auto out) {
      ashlar::rms_norm<Gain>(ctx, in, vector_view(gain), out, eps);
    });
  };
  if (order == "llama" || order == "t5") return with(ashlar::gain::AfterRounding{});
  if (order == "gpt_oss" || order == "gemma4") return with(ashlar::gain::BeforeRounding{});
  if (order == "gemma") return with(ashlar::gain::PlusOne{});
  throw Unsupported{"rounding order " + order};
}

template <class B>
void rms_norm(const OpCase& c) {
  c.allow_settings({"eps", "order", "dtype", "scale", "weight", "rows", "dim"});
  const index_t M = c.shape("x")[0], D = c.shape("x")[1];
  const auto gain = c.values_or_none<float>("weight");
  const auto eps = static_cast<float>(c.number("eps", 1e-6));
  const std::string order = c.text("order", "llama"), dtype = c.text("dtype", "f32");
  if (dtype == "f32") {
    expect_golden(c, "y", run_rms_norm<B>(order, c.values<float>("x"), M, D, gain, eps));
  } else if (dtype == "bf16") {
    using ashlar::bfloat16;
    const auto y = run_rms_norm<B>(order, c.values<bfloat16>("x"), M, D, gain, eps);
    EXPECT_TRUE(support::same_bits(y, c.values<bfloat16>("y")));
  } else {
    throw Unsupported{"element type " + dtype};
  }
}

template <class B>
Floats run_layer_norm(bool plus_one, const Floats& x, index_t M, index_t D, const Floats& gain,
                      const Floats& bias, float eps) {
  ashlar::Context<B> ctx;
  const auto with = [&]<class Gain>(Gain) {
    return run_rows(x, M, D, [&](auto in, auto out) {
      ashlar::layer_norm<Gain>(ctx, in, vector_view(gain), vector_view(bias), out, eps);
    });
  };
  return plus_one ? with(ashlar::gain::PlusOne{}) : with(ashlar::gain::BeforeRounding{});
}

template <class B>
void layer_norm(const OpCase& c) {
  c.allow_settings(
      {"eps", "offset", "scale", "weight", "bias", "plus_one", "constant", "rows", "dim"});
  const index_t M = c.shape("x")[0], D = c.shape("x")[1];
  expect_golden(
      c, "y",
      run_layer_norm<B>(c.flag("plus_one"), c.values<float>("x"), M, D,
                        c.values_or_none<float>("weight"), c.values_or_none<float>("bias"),
                        static_cast<float>(c.number("eps", 1e-5))));
}

/// The forward part of the gradient cases.
template <class B>
void norm_gradients(const OpCase& c) {
  c.allow_settings({"kind", "eps", "offset", "scale", "plus_one", "rows", "dim"});
  const index_t M = c.shape("x")[0], D = c.shape("x")[1];
  const auto x = c.values<float>("x"), gain = c.values<float>("weight");
  const auto eps = static_cast<float>(c.number("eps", 1e-5));
  if (c.text("kind", "") == "rms")
    return expect_golden(
        c, "y", run_rms_norm<B>(c.flag("plus_one") ? "gemma" : "llama", x, M, D, gain, eps));
  expect_golden(c, "y",
                run_layer_norm<B>(c.flag("plus_one"), x, M, D, gain, c.values<float>("bias"), eps));
}

/// x [tokens, heads, dim]. A weight per head normalises the rows of one head at a time, a strided
/// view.
template <class B>
void qk_norm(const OpCase& c) {
  c.allow_settings({"eps", "bias", "scale", "kind", "tokens", "heads", "dim"});
  const index_t tokens = c.shape("x")[0], heads = c.shape("x")[1], dim = c.shape("x")[2];
  const auto x = c.values<float>("x"), weight = c.values_or_none<float>("weight");
  const auto bias = c.values_or_none<float>("bias");
  const auto eps = static_cast<float>(c.number("eps", 1e-6));
  const std::string kind = c.text("kind", "shared");
  if (kind == "shared" || kind == "shared_plus_one" || kind == "no_weight") {
    const char* order = kind == "shared_plus_one" ? "gemma" : "llama";
    return expect_golden(c, "y", run_rms_norm<B>(order, x, tokens * heads, dim, weight, eps));
  }
  if (kind == "full_width")
    return expect_golden(c, "y", run_rms_norm<B>("llama", x, tokens, heads * dim, weight, eps));
  if (kind != "own" && kind != "own_layer_norm") throw Unsupported{"kind " + kind};
  ashlar::Context<B> ctx;
  Floats y(x.size(), NAN);
  for (index_t h = 0; h < heads; ++h) {
    const ashlar::MatrixView<const float> in(x.data() + h * dim, {tokens, dim}, {heads * dim, 1});
    const ashlar::MatrixView<float> out(y.data() + h * dim, {tokens, dim}, {heads * dim, 1});
    const ashlar::VectorView<const float> gain(weight.data() + h * dim, {dim});
    const ashlar::VectorView<const float> b(bias.empty() ? nullptr : bias.data() + h * dim,
                                            {bias.empty() ? 0 : dim});
    if (kind == "own")
      ashlar::rms_norm(ctx, in, gain, out, eps);
    else
      ashlar::layer_norm(ctx, in, gain, b, out, eps);
  }
  expect_golden(c, "y", y);
}

/// Calls f with the library's activation of that name.
template <class F>
void with_activation(const std::string& kind, F&& f) {
  using namespace ashlar::act;
  if (kind == "gelu_erf") return f(Gelu{});
  if (kind == "gelu_tanh") return f(GeluTanh{});
  if (kind == "gelu_quick") return f(GeluQuick{});
  if (kind == "silu") return f(Silu{});
  if (kind == "relu") return f(Relu{});
  if (kind == "relu_squared") return f(ReluSquared{});
  if (kind == "sigmoid") return f(Sigmoid{});
  if (kind == "identity") return f(Identity{});
  throw Unsupported{"activation " + kind + " is not implemented yet"};
}

template <class B>
void activations(const OpCase& c) {
  c.allow_settings({"limit", "count", "kind"});
  const auto x = c.values<float>("x");
  with_activation(c.text("kind", ""), [&]<class Act>(Act) {
    ashlar::Context<B> ctx;
    expect_golden_each(c, "y",
                       run_rows(x, 1, static_cast<index_t>(x.size()),
                                [&](auto in, auto out) { ashlar::activation<Act>(ctx, in, out); }));
  });
}

template <class B>
void glu(const OpCase& c) {
  c.allow_settings({"scale", "limit", "alpha", "gradient", "kind", "rows", "dim"});
  const index_t M = c.shape("gate")[0], F = c.shape("gate")[1];
  const std::string kind = c.text("kind", "");
  const std::map<std::string, std::string> gates = {
      {"glu", "sigmoid"},        {"bilinear", "identity"},    {"reglu", "relu"},
      {"geglu_erf", "gelu_erf"}, {"geglu_tanh", "gelu_tanh"}, {"swiglu", "silu"}};
  if (!gates.count(kind)) throw Unsupported{"gated unit " + kind + " is not implemented yet"};
  const auto up_values = c.values<float>("up");
  const double unit = std::max(1.0, support::max_magnitude(up_values));
  with_activation(gates.at(kind), [&]<class Act>(Act) {
    ashlar::Context<B> ctx;
    const auto run = [&](ashlar::MatrixView<const float> up) {
      return run_rows(c.values<float>("gate"), M, F,
                      [&](auto gate, auto out) { ashlar::glu<Act>(ctx, gate, up, out); });
    };
    const Floats y = run({up_values.data(), {M, F}});
    expect_golden_each(c, "y", y, unit);
    // Gate and up as the halves of one row, in both orders: views into packed memory.
    for (const bool gate_first : {true, false}) {
      const auto packed = c.values<float>(gate_first ? "packed_gate_up" : "packed_up_gate");
      const float *gate = packed.data() + (gate_first ? 0 : F),
                  *up = packed.data() + (gate_first ? F : 0);
      Floats out(y.size(), NAN);
      ashlar::glu<Act>(ctx, ashlar::MatrixView<const float>(gate, {M, F}, {2 * F, 1}),
                       ashlar::MatrixView<const float>(up, {M, F}, {2 * F, 1}),
                       ashlar::MatrixView<float>(out.data(), {M, F}));
      EXPECT_TRUE(support::same_bits(out, y)) << (gate_first ? "gate, up" : "up, gate");
    }
  });
}

template <class B>
void softmax(const OpCase& c) {
  c.allow_settings({"scale", "offset", "masked", "values", "rows", "dim"});
  const index_t M = c.shape("x")[0], D = c.shape("x")[1];
  const auto x = c.values<float>("x");
  ashlar::Context<B> ctx;
  Floats lse(static_cast<std::size_t>(M), NAN);
  const ashlar::VectorView<float> lse_view(lse.data(), {M});
  const Floats y =
      run_rows(x, M, D, [&](auto in, auto out) { ashlar::softmax(ctx, in, out, lse_view); });
  expect_golden(c, "y", y);
  expect_golden(c, "log_sum_exp", lse);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isinf(x[i])) {
      EXPECT_EQ(y[i], 0.f) << i;
    }
  }
}

inline void alibi_slopes(const OpCase& c) {
  c.allow_settings({"maximum", "heads", "order"});
  const std::string order = c.text("order", "bloom");
  if (order != "bloom" && order != "mpt") throw Unsupported{"order of slopes " + order};
  const auto slopes = ashlar::alibi_slopes(
      c.integer("heads", 0), order == "mpt" ? ashlar::AlibiOrder::mpt : ashlar::AlibiOrder::bloom,
      c.number("maximum", 8));
  EXPECT_TRUE(support::same_bits(slopes, c.values<float>("slopes")));
}

inline void t5_buckets(const OpCase& c) {
  c.allow_settings({"low", "high", "bidirectional", "buckets", "maximum"});
  const ashlar::T5Buckets buckets(c.integer("buckets", 32), c.integer("maximum", 128),
                                  c.flag("bidirectional"));
  std::vector<index_t> got;
  for (const index_t distance : c.values<index_t>("distance")) got.push_back(buckets(distance));
  EXPECT_EQ(got, c.values<index_t>("bucket"));
}

}  // namespace golden
