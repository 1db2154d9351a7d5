// The append to a cache of Q8_0, emulated: the rule of rounding by its properties in double, the
// kernel by the rule's bits, both by the error of attention on what was appended.
#include <ashlar/cuda/attention_q8_launch.cuh>
#include <numeric>

#include "functors.hpp"
#include "on_device.hpp"
#include "oracle/quant.hpp"
#include "q8_case.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar;
using oracle::to_size;

/// The half that is nearest to x, by trying all that are not negative.
double nearest_half(double x) {
  double best = 0;
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const double h = oracle::half_value(bits);
    if (std::abs(h - x) < std::abs(best - x)) best = h;
  }
  return best;
}

struct Rounded {
  std::vector<std::int8_t> codes;
  std::vector<half> scales;
};
Rounded rounded(const std::vector<float>& x) {
  const auto n = static_cast<index_t>(x.size());
  Rounded r{std::vector<std::int8_t>(x.size()), std::vector<half>(to_size(Q8_0::scales(n)))};
  Q8_0::round_row(x.data(), n, r.codes.data(), r.scales.data());
  return r;
}

TEST(Q8Rule, RoundsToTheNearestCodeOfTheNearestScale) {
  support::Random random(1);
  SCOPED_TRACE(random.seed());
  for (const index_t width : {1, 31, 32, 33, 64, 65, 96, 250})
    for (const double size : {1e-9, 1e-5, 1e-3, 1.0, 300.0, 60000.0 * 127}) {
      auto x = random.normals<float>(width, size / 6);
      const Rounded r = rounded(x);
      ASSERT_EQ(r.scales.size() % 2, 0u);
      for (std::size_t n = 0; n < r.scales.size(); ++n) {
        const std::size_t end = std::min(x.size(), 32 * n + 32);
        double largest = 0;
        for (std::size_t i = 32 * n; i < end; ++i)
          largest = std::max(largest, std::abs(static_cast<double>(x[i])));
        const double scale = oracle::half_value(r.scales[n].bits);
        const double ideal = largest / 127;  // rounded to a float before it is one to a half
        EXPECT_LE(std::abs(scale - ideal), std::abs(nearest_half(ideal) - ideal) + ideal * 0x1p-23);
        for (std::size_t i = 32 * n; i < end; ++i) {
          EXPECT_GE(r.codes[i], -127);
          const double error = std::abs(x[i] - scale * r.codes[i]);
          EXPECT_LE(error, std::max(scale / 2 * (1 + 1e-6), 127 * 0x1p-25)) << x[i];
        }
      }
    }
}

TEST(Q8Rule, TiesZerosAndWhatIsNotFinite) {
  // A scale of 1: ties go to the even code.
  const Rounded ties = rounded({127, 0.5f, 1.5f, -2.5f, -3.5f, 126.5f, 0, -0.f});
  EXPECT_EQ(float(ties.scales[0]), 1.f);
  EXPECT_EQ(ties.codes, (std::vector<std::int8_t>{127, 0, 2, -2, -4, 126, 0, 0}));
  EXPECT_EQ(float(ties.scales[1]), 0.f);  // a block without elements
  const Rounded zeros = rounded({0, 0});
  EXPECT_EQ(float(zeros.scales[0]), 0.f);
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY, 3e38f}) {
    const Rounded r = rounded({1, bad, 2});
    EXPECT_EQ(r.scales[0].bits, std::isnan(bad) ? 0x7e00 : 0x7c00);
    for (index_t i = 0; i < 3; ++i) {
      const float value = Q8Row{r.codes.data(), r.scales.data()}[i];
      EXPECT_TRUE(std::isnan(value)) << bad << " gives " << value;
    }
  }
}

struct AppendShape {
  index_t B, T, K, H, Hv;
};

/// New tokens of sequences that have `before` tokens each.
template <class T>
struct AppendCase {
  using Tensor = support::PoisonedTensor<T, 4>;
  using Codes = support::PoisonedTensor<std::int8_t, 4>;
  using Scales = support::PoisonedTensor<half, 4>;

  AppendCase(AppendShape shape, index_t gap)
      : s(shape), k({s.B, s.T, s.K, s.H}, gap), v({s.B, s.T, s.K, s.Hv}, 2 * gap) {
    for (index_t b = 0; b < s.B; ++b) before.push_back((b * 13 + 5) % 23);
    fill(k, s.H);
    fill(v, s.Hv);
  }
  void fill(Tensor& x, index_t width) {
    const auto values = random.normals<float>(s.B * s.T * s.K * width, 2);
    x.template assign<float>(values);
    if (width > 32) view(x)(s.B - 1, 0, 0, 32) = T(-NAN);  // a block of its own
  }
  static TensorView<T, 4> view(Tensor& x) { return {x.data(), x.extents(), x.strides()}; }

  AppendShape s;
  support::Random random{7};
  Tensor k, v;
  std::vector<index_t> before;
};

/// What the cache holds of one tensor is what the rule makes of its rows, and nothing else changed.
template <class T, class Source>
void expect_rows(AppendCase<T>& c, TensorView<const T, 4> x, const Source& source, bool of_keys) {
  const index_t width = x.extent(3);
  std::vector<std::int8_t> codes(to_size(width));
  std::vector<half> scales(to_size(Q8_0::scales(width)));
  for (index_t b = 0; b < c.s.B; ++b)
    for (index_t t = 0; t < c.s.T; ++t)
      for (index_t h = 0; h < c.s.K; ++h) {
        Q8_0::round_row(&x(b, t, h, 0), width, codes.data(), scales.data());
        const index_t slot = c.before[to_size(b)] + t;
        const Q8Row got = of_keys ? source.key(b, h, slot) : source.value(b, h, slot);
        EXPECT_TRUE(std::equal(codes.begin(), codes.end(), got.codes)) << b << ' ' << t << ' ' << h;
        for (std::size_t n = 0; n < scales.size(); ++n)
          EXPECT_EQ(scales[n].bits, got.scales[n].bits) << b << ' ' << t << ' ' << h;
      }
}
template <class X>
std::size_t untouched(X& x) {
  std::size_t count = 0;
  for (const auto& value : x.template values<std::vector<std::decay_t<decltype(*x.data())>>>()) {
    std::array<unsigned char, sizeof(value)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(value));
    count += std::count(bytes.begin(), bytes.end(), 0xff) == std::ssize(bytes) ? 1u : 0u;
  }
  return count;
}

template <class T>
void expect_append(AppendShape s, bool paged) {
  SCOPED_TRACE(testing::Message() << s.B << " x " << s.T << ", heads of " << s.H << ", " << s.Hv);
  AppendCase<T> c(s, 3);
  const index_t room = 64, page = 8, outer = paged ? s.B * room / page : s.B,
                inner = paged ? page : room;
  typename AppendCase<T>::Codes k_codes({outer, inner, s.K, s.H}, 5),
      v_codes({outer, inner, s.K, s.Hv}, 3);
  typename AppendCase<T>::Scales k_scales({outer, inner, s.K, Q8_0::scales(s.H)}, 2),
      v_scales({outer, inner, s.K, Q8_0::scales(s.Hv)}, 4);
  const auto tensor = [](auto& codes, auto& scales) {
    return cuda::Q8Tensor{
        TensorView<std::int8_t, 4>(codes.data(), codes.extents(), codes.strides()),
        TensorView<half, 4>(scales.data(), scales.extents(), scales.strides())};
  };
  const cuda::KeyRows<Q8_0> rows{tensor(k_codes, k_scales), tensor(v_codes, v_scales)};
  std::vector<std::int32_t> table(to_size(outer));
  std::iota(table.rbegin(), table.rend(), 0);
  const cuda::KeyPages<Q8_0> pages{rows.k, rows.v, {table.data(), {s.B, room / page}}, nullptr, 3};
  const auto run = [&](const auto& source) {
    struct Call {
      TensorView<const T, 4> k, v;
      std::remove_cvref_t<decltype(source)> cache;
      VectorView<const index_t> lengths;
    } call{c.view(c.k), c.view(c.v), source, {c.before.data(), {s.B}}};
    cuda_test::on_device(call, 0, [](auto& ctx, const Call& there) {
      cuda::append_q8(ctx, there.k, there.v, there.cache, there.lengths);
    });
    expect_rows(c, call.k, source, true);
    expect_rows(c, call.v, source, false);
  };
  if (paged)
    run(pages);
  else
    run(rows);
  // Rows of other slots, and what lies between rows, are as they were.
  EXPECT_TRUE(k_codes.gaps_intact() && v_codes.gaps_intact() && k_scales.gaps_intact() &&
              v_scales.gaps_intact());
  const index_t old = s.B * (room - s.T) * s.K;
  EXPECT_EQ(untouched(k_scales), to_size(old * Q8_0::scales(s.H)));
  EXPECT_EQ(untouched(v_scales), to_size(old * Q8_0::scales(s.Hv)));
  EXPECT_GE(untouched(k_codes), to_size(old * s.H));  // -1 is a code too
}

TEST(Q8Append, HasTheBitsOfTheRule) {
  for (const bool paged : {false, true}) {
    expect_append<float>({2, 3, 2, 64, 64}, paged);
    expect_append<float>({1, 1, 1, 1, 33}, paged);
    expect_append<bfloat16>({3, 5, 2, 80, 128}, paged);
    expect_append<half>({2, 2, 5, 256, 31}, paged);
  }
}

TEST(Q8Append, AttentionOnWhatWasAppendedIsAsCloseAsItsScalesSay) {
  const index_t B = 2, S = 60, N = 4, K = 2, H = 64;
  cuda_test::AttentionCase<bfloat16> c({B, 1, S, N, K, H, H}, {});
  auto plain = c.padded(NoMask{}, NoScore{});
  std::vector<std::int8_t> k_codes(to_size(B * S * K * H)), v_codes(k_codes.size());
  std::vector<half> k_scales(to_size(B * S * K * 2)), v_scales(k_scales.size());
  const auto tensor = [&](auto& codes, auto& scales) {
    return cuda::Q8Tensor{TensorView<const std::int8_t, 4>(codes.data(), {B, S, K, H}),
                          TensorView<const half, 4>(scales.data(), {B, S, K, 2})};
  };
  using Rows = cuda::KeyRows<Q8_0>;
  cuda::AttentionProblem<bfloat16, Rows, NoMask, NoScore> p{};
  p.q = plain.q;
  p.kv = Rows{tensor(k_codes, k_scales), tensor(v_codes, v_scales)};
  p.out = plain.out;
  p.options.lse = plain.options.lse;
  struct Call {
    decltype(plain) exact;
    decltype(p) cached;
  } call{plain, p};
  cuda_test::on_device(call, 1 << 20, [](auto& ctx, const Call& there) {
    const auto& [exact, cached] = there;
    cuda::append_q8(ctx, exact.kv.k, exact.kv.v, cached.kv);
    cuda::attention_decode_q8(ctx, cached.q, cached.kv, cached.out, cached.options);
  });
  // A score is off by at most scale sum |q_h| d / 2, a weight by the factor e^(twice the largest),
  // a value by d / 2; both decoded numbers are rounded to bf16 besides, as weights and results are.
  const auto got = c.answer().out;
  const auto want = oracle::attention(c.q, c.k, c.v, c.s, c.options);
  double largest_error = 0;
  for (index_t b = 0; b < B; ++b)
    for (index_t n = 0; n < N; ++n) {
      double score_error = 0, value_error = 0;
      for (index_t j = 0; j < S; ++j) {
        double error = 0;
        for (index_t h = 0; h < H; ++h) {
          const index_t row = (b * S + j) * K + n / (N / K);
          const double scale = float(k_scales[to_size(row * 2 + h / 32)]);
          error += std::abs(c.q[to_size((b * N + n) * H + h)]) *
                   (scale / 2 + 0x1p-9 * std::abs(c.k[to_size(row * H + h)]) + 0x1p-10 * scale);
          value_error = std::max(value_error, 0.5 * float(v_scales[to_size(row * 2 + h / 32)]));
        }
        score_error = std::max(score_error, error / std::sqrt(double(H)));
      }
      for (index_t d = 0; d < H; ++d) {
        const std::size_t i = to_size((b * N + n) * H + d);
        const double bound =
            want.magnitude[i] * (std::expm1(2 * score_error) + 0x1p-6) + value_error * 1.01;
        const double error = std::abs(got[i] - want.out[i]);
        EXPECT_LE(error, bound);
        largest_error = std::max(largest_error, error);
      }
    }
  EXPECT_GT(largest_error, 1e-4) << "as if nothing had been rounded";
  EXPECT_LT(largest_error, 0.05);
}

TEST(Q8Append, RefusesWhatDoesNotFit) {
  std::vector<std::int8_t> codes(2 * 4 * 64);
  std::vector<half> scales(2 * 4 * 2);
  const cuda::Q8Tensor cache{TensorView<const std::int8_t, 4>(codes.data(), {2, 4, 1, 64}),
                             TensorView<const half, 4>(scales.data(), {2, 4, 1, 2})};
  std::vector<float> x(2 * 5 * 64);
  const auto refused = [&](index_t B, index_t T, index_t H, index_t lengths) {
    return support::message_of<ShapeError>([&] {
      const TensorView<const float, 4> k(x.data(), {B, T, 1, H}), v(x.data(), {B, T, 1, 64});
      const std::vector<index_t> before(3);
      cuda::make_append("append_q8", k, v, cuda::KeyRows<Q8_0>{cache, cache},
                        VectorView<const index_t>(before.data(), {lengths}));
    });
  };
  EXPECT_EQ(refused(2, 4, 64, 2), "");
  EXPECT_NE(refused(1, 4, 64, 2).find("k has shape [1, 4, 1, 64]"), std::string::npos);
  EXPECT_NE(refused(2, 4, 32, 2).find("k has shape [2, 4, 1, 32]"), std::string::npos);
  EXPECT_NE(refused(2, 5, 64, 2).find("5 tokens, the cache has room for 4"), std::string::npos);
  EXPECT_NE(refused(2, 4, 64, 3).find("lengths has shape [3]"), std::string::npos);
}

}  // namespace
