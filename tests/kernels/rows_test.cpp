// Row ops on SIMD: the bits of the scalar contract for every width, stride and number of workers.
// Without fma in hardware the two differ by roundings.
#include "ops/rows.hpp"

#include <gtest/gtest.h>

#include <ashlar/simd.hpp>

namespace {

using namespace ashlar;
using rows::Floats, rows::Matrix;
using Scalar = Context<backend::ScalarCpu>;
using Simd = Context<backend::SimdCpu>;

struct Shape {
  index_t M, D;
};
/// Every kind of tail; the last three are several tasks for threads.
constexpr Shape shapes[] = {{3, 1},     {3, 2},    {3, 3},    {3, 7},   {3, 15},   {3, 16},
                            {3, 17},    {3, 31},   {3, 33},   {3, 63},  {3, 64},   {3, 65},
                            {3, 127},   {3, 128},  {3, 255},  {3, 576}, {3, 1000}, {0, 5},
                            {200, 255}, {70, 576}, {2, 20000}};

testing::AssertionResult agree(const Floats& got, const Floats& expected) {
  return has_fma ? support::same_bits(got, expected)
                 : support::all_close_to_largest(got, expected, 1e-5);
}

/// f(ctx, x, y) on both backends: apart, in place, with 1 and 3 workers, and from rows of stride 0.
template <class F>
void expect_bits(const Shape& s, const Floats& values, F f) {
  SCOPED_TRACE(testing::Message() << "M " << s.M << ", D " << s.D);
  Scalar scalar;
  Matrix<float> x(s.M, s.D, values), expected(s.M, s.D);
  f(scalar, x.in(), expected.view());
  for (const int workers : {1, 3}) {
    Simd simd(rows::threads(workers));
    Matrix<float> y(s.M, s.D, 5), in_place(s.M, s.D, values);
    f(simd, x.in(), y.view());
    f(simd, in_place.in(), in_place.view());
    EXPECT_TRUE(agree(y.values(), expected.values())) << workers << " workers";
    EXPECT_TRUE(agree(in_place.values(), expected.values())) << "in place";
    EXPECT_TRUE(y.gaps_intact() && in_place.gaps_intact());
  }
  EXPECT_TRUE(support::same_bits(x.values(), values));
  if (s.M != 3) return;
  // V11: one row of memory seen three times is worth three copies of it.
  Floats copies;
  for (int m = 0; m < 3; ++m) copies.insert(copies.end(), values.begin(), values.begin() + s.D);
  Simd simd;
  Matrix<float> copy(s.M, s.D, copies), y(s.M, s.D);
  f(scalar, copy.in(), expected.view());
  f(simd, MatrixView<const float>(x.in().data(), {s.M, s.D}, {0, 1}), y.view());
  EXPECT_TRUE(agree(y.values(), expected.values())) << "stride 0";
}

Floats random_rows(const Shape& s, double scale = 3, double offset = 0.5) {
  return support::Random(static_cast<std::uint64_t>(s.M * 7919 + s.D))
      .normals<float>(s.M * s.D, scale, offset);
}
Floats random_vector(index_t n, std::uint64_t salt) {
  return support::Random(salt).normals<float>(n, 1, 1);
}
/// Both signs of zero and infinity, denormals, and numbers at which exponentials overflow.
Floats with_special_values(Floats x) {
  const float special[] = {0.f,    -0.f,   HUGE_VALF, -HUGE_VALF, 1e-40f, -1e-40f, 88.9f,
                           -87.5f, -88.8f, -104.f,    1e30f,      -1e30f, 20.f,    -0x1p-126f};
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = special[i / 3 % std::size(special)];
  return x;
}

struct Squared {  // w^2 * x, a gain of the user's own that takes anything
  template <class T, class V>
  static V apply(V x, V w) {
    return x * (w * w);
  }
};

template <class Gain>
void rms_norm_bits() {
  for (const Shape& s : shapes)
    for (const Floats& gain : {Floats(), random_vector(s.D, 5)})
      expect_bits(s, random_rows(s), [&](auto& ctx, auto x, auto y) {
        rms_norm<Gain>(ctx, x, rows::vector(gain), y, 1e-5f);
      });
}
TEST(ContractV15, RmsNorm) {
  rms_norm_bits<gain::AfterRounding>();
  rms_norm_bits<gain::BeforeRounding>();
  rms_norm_bits<gain::PlusOne>();
  rms_norm_bits<gain::None>();
  rms_norm_bits<Squared>();
}

struct SquaredFactor {  // a rule of the user's own that takes anything
  template <class V>
  static V factor(V w) {
    return w * w;
  }
};

template <class Gain>
void layer_norm_bits() {
  for (const Shape& s : shapes)
    for (const double offset : {0.0, 1000.0})
      for (const bool with_gain : {false, true})
        for (const bool with_bias : {false, true}) {
          const Floats gain = with_gain ? random_vector(s.D, 5) : Floats();
          const Floats bias = with_bias ? random_vector(s.D, 6) : Floats();
          expect_bits(s, random_rows(s, 1, offset), [&](auto& ctx, auto x, auto y) {
            layer_norm<Gain>(ctx, x, rows::vector(gain), rows::vector(bias), y, 1e-5f);
          });
        }
}
TEST(ContractV15, LayerNorm) {
  layer_norm_bits<gain::BeforeRounding>();
  layer_norm_bits<gain::PlusOne>();
  layer_norm_bits<SquaredFactor>();
}

TEST(ContractV15, Softmax) {
  for (const Shape& s : shapes) {
    Floats hidden = random_rows(s, 8);
    for (std::size_t i = 0; i < hidden.size(); i += 2) hidden[i] = -HUGE_VALF;
    const Floats empty(hidden.size(), -HUGE_VALF);
    for (const Floats& x : {random_rows(s, 8), random_rows(s, 100), hidden, empty}) {
      expect_bits(s, x, [](auto& ctx, auto from, auto y) { softmax(ctx, from, y); });
      Floats lse(static_cast<std::size_t>(s.M)), expected(lse);
      Scalar scalar;
      Simd simd(rows::threads(3));
      Matrix<float> in(s.M, s.D, x), y(s.M, s.D);
      softmax(scalar, in.in(), y.view(), VectorView<float>(expected.data(), {s.M}));
      softmax(simd, in.in(), y.view(), VectorView<float>(lse.data(), {s.M}));
      EXPECT_TRUE(agree(lse, expected));
    }
  }
}

template <class Act>
void activation_bits() {
  for (const Shape& s : shapes) {
    for (const Floats& x : {random_rows(s), with_special_values(random_rows(s))})
      expect_bits(s, x, [](auto& ctx, auto from, auto y) { activation<Act>(ctx, from, y); });
    Matrix<float> up(s.M, s.D, random_rows(s, 2, -1));
    expect_bits(s, random_rows(s),
                [&](auto& ctx, auto gate, auto y) { glu<Act>(ctx, gate, up.in(), y); });
    Matrix<float> gate(s.M, s.D, random_rows(s, 2, -1));
    expect_bits(s, random_rows(s),
                [&](auto& ctx, auto u, auto y) { glu<Act>(ctx, gate.in(), u, y); });
  }
}
TEST(ContractV15, Activations) {
  activation_bits<act::Identity>();
  activation_bits<act::Relu>();
  activation_bits<act::ReluSquared>();
  activation_bits<act::Sigmoid>();
  activation_bits<act::Silu>();
  activation_bits<act::Gelu>();
  activation_bits<act::GeluTanh>();
  activation_bits<act::GeluQuick>();
}

TEST(ContractV15, ResidualAdd) {
  for (const Shape& s : shapes)
    for (const Floats& scale : {Floats(), random_vector(s.D, 7)})
      for (const int workers : {1, 3}) {
        Scalar scalar;
        Simd simd(rows::threads(workers));
        Matrix<float> branch(s.M, s.D, random_rows(s), 2);
        const Floats stream = random_rows(s, 10, -2);
        Matrix<float> expected(s.M, s.D, stream), x(s.M, s.D, stream, 5);
        residual_add(scalar, branch.in(), rows::vector(scale), expected.view());
        residual_add(simd, branch.in(), rows::vector(scale), x.view());
        EXPECT_TRUE(agree(x.values(), expected.values())) << s.M << ", " << s.D;
        EXPECT_TRUE(x.gaps_intact());
      }
}

TEST(ContractV15, Rope) {
  const auto check = [](index_t M, index_t N, index_t r, index_t H, RopePairing pairing) {
    SCOPED_TRACE(testing::Message() << "M " << M << ", N " << N << ", r " << r << ", H " << H);
    std::vector<index_t> positions;
    for (index_t m = 0; m < M; ++m) positions.push_back(m * m * 31 % 100003);
    support::PoisonedTensor<float, 3> table({M, 2, r / 2}, 1, 2);
    const TensorView<float, 3> t(table.data(), table.extents(), table.strides());
    rope_table(rope_frequencies(1e4, r), rows::vector(positions), t);
    const Floats values = random_rows({M * N, H});
    const auto rotated = [&](auto& ctx, index_t gap) {
      support::PoisonedTensor<float, 3> x({M, N, H}, gap, 2 * gap);
      x.assign(std::span<const float>(values));
      rope(ctx, TensorView<const float, 3>(t), pairing,
           TensorView<float, 3>(x.data(), x.extents(), x.strides()));
      EXPECT_TRUE(x.gaps_intact());
      return x.values<Floats>();
    };
    Scalar scalar;
    const Floats expected = rotated(scalar, 0);
    for (const int workers : {1, 3}) {
      Simd simd(rows::threads(workers));
      EXPECT_TRUE(agree(rotated(simd, 3), expected)) << workers << " workers";
    }
  };
  for (const auto pairing : {RopePairing::half_split, RopePairing::interleaved}) {
    for (const index_t r : {0, 2, 4, 6, 10, 14, 16, 18, 30, 32, 34, 62, 64, 66, 128, 200, 256}) {
      check(5, 3, r, r, pairing);
      check(2, 1, r, r + 5, pairing);
    }
    check(90, 9, 64, 64, pairing);
  }
}

struct FloatsOnly {
  static float apply(float x) { return x > 1 ? x * 2 : -x; }
  static double apply(double x) { return x > 1 ? x * 2 : -x; }
};
struct CountsVectors : FloatsOnly {
  using FloatsOnly::apply;
  static inline int calls = 0;
  static simd::Vf apply(simd::Vf x) {
    ++calls;
    return x;
  }
};
struct GainOfFloats {
  template <class T, std::floating_point V>
  static V apply(V x, V w) {
    return w - x;
  }
  static float factor(float w) { return -w; }
  static double factor(double w) { return -w; }
};
TEST(SimdFallback, UserFunctorsForFloatAlone) {
  const Floats x = {-3, -1, 0.5f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Floats y(x.size()), expected;
  for (const float v : x) expected.push_back(FloatsOnly::apply(v));
  const index_t D = static_cast<index_t>(x.size());
  const MatrixView<const float> in(x.data(), {1, D});
  const MatrixView<float> out(y.data(), {1, D});
  Simd simd;
  Scalar scalar;
  static_assert(!kernels::VectorActivation<FloatsOnly>);
  activation<FloatsOnly>(simd, in, out);
  EXPECT_TRUE(support::same_bits(y, expected));
  activation<CountsVectors>(simd, in, out);
  EXPECT_EQ(CountsVectors::calls, ceil_div(D, simd::lanes));

  Floats z(x.size());
  rms_norm<GainOfFloats>(simd, in, rows::vector(x), out, 0.f);
  rms_norm<GainOfFloats>(scalar, in, rows::vector(x), MatrixView<float>(z.data(), {1, D}), 0.f);
  EXPECT_TRUE(support::same_bits(y, z));
  EXPECT_NE(y[0], 0.f);

  layer_norm<GainOfFloats>(simd, in, rows::vector(x), {}, out, 0.f);
  layer_norm<GainOfFloats>(scalar, in, rows::vector(x), {}, MatrixView<float>(z.data(), {1, D}),
                           0.f);
  EXPECT_TRUE(support::same_bits(y, z));
  EXPECT_LT(y[0], 0.f);
}

/// Other element types run the scalar kernels under the tag SimdCpu.
template <class T>
void other_element_type() {
  const Shape s{4, 37};
  const Floats gain = random_vector(s.D, 8);
  Matrix<T> x(s.M, s.D, random_rows(s)), y(s.M, s.D), expected(s.M, s.D);
  Simd simd;
  Scalar scalar;
  const auto same = [&](auto op) {
    op(simd, y.view());
    op(scalar, expected.view());
    EXPECT_TRUE(support::same_bits(y.values(), expected.values()));
  };
  same([&](auto& c, auto to) { rms_norm(c, x.in(), rows::vector(gain), to, 1e-5f); });
  same([&](auto& c, auto to) { layer_norm(c, x.in(), rows::vector(gain), {}, to, 1e-5f); });
  same([&](auto& c, auto to) { softmax(c, x.in(), to); });
  same([&](auto& c, auto to) { activation<act::Gelu>(c, x.in(), to); });
  same([&](auto& c, auto to) { swiglu(c, x.in(), x.in(), to); });
  same([&](auto& c, auto to) { residual_add(c, x.in(), rows::vector(gain), to); });
}
TEST(SimdFallback, OtherElementTypes) {
  other_element_type<double>();
  other_element_type<bfloat16>();
  other_element_type<half>();
}

TEST(SimdRows, NanStaysNan) {
  Floats x(70, 1.f);
  x[3] = x[66] = NAN;
  Matrix<float> in(1, 70, x), y(1, 70);
  Simd simd;
  const auto all_nan = [&] {
    for (const float v : y.values())
      if (!std::isnan(v)) return false;
    return true;
  };
  rms_norm(simd, in.in(), {}, y.view(), 0.f);
  EXPECT_TRUE(all_nan());
  layer_norm(simd, in.in(), {}, {}, y.view(), 0.f);
  EXPECT_TRUE(all_nan());
  softmax(simd, in.in(), y.view());
  EXPECT_TRUE(std::isnan(y.values()[3]) && std::isnan(y.values()[66]));
  activation<act::Relu>(simd, in.in(), y.view());
  EXPECT_TRUE(std::isnan(y.values()[3]) && std::isnan(y.values()[66]));
  EXPECT_EQ(y.values()[65], 1.f);
}

}  // namespace
