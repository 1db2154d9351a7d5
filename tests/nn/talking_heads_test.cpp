// TalkingHeads against a plain computation in double: odd sizes, padding, own key lengths.
#include <gtest/gtest.h>

#include <ashlar/nn/mixer/talking_heads.hpp>
#include <ashlar/simd.hpp>
#include <cmath>
#include <vector>

#include "support/compare.hpp"
#include "support/random.hpp"

namespace {

using namespace ashlar;
using Floats = std::vector<float>;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

struct Case {
  Dims d{.d_model = 15, .n_heads = 3, .n_kv_heads = 3, .head_dim = 5};
  index_t batch = 2, tokens = 7;
  std::vector<index_t> lengths{7, 4};
  Floats x, q, k, v, o, qb, kb, vb, ob, scores, scores_bias, weights, weights_bias;
};

/// y [B T, D]; only true tokens count.
std::vector<double> expected(const Case& c, double scale) {
  const index_t D = c.d.d_model, N = c.d.n_heads, H = c.d.head_dim;
  const auto product = [&](const Floats& w, const Floats& bias, index_t m, index_t n) {
    double sum = bias[at(n)];
    for (index_t i = 0; i < D; ++i) sum += double{w[at(n * D + i)]} * double{c.x[at(m * D + i)]};
    return sum;
  };
  std::vector<double> y(at(c.batch * c.tokens * D), 0.0);
  for (index_t b = 0; b < c.batch; ++b)
    for (index_t t = 0; t < c.lengths[at(b)]; ++t) {
      const index_t S = c.lengths[at(b)], m = b * c.tokens + t;
      std::vector<std::vector<double>> s(at(N), std::vector<double>(at(S))), p = s, a = s;
      for (index_t h = 0; h < N; ++h)
        for (index_t j = 0; j < S; ++j)
          for (index_t i = 0; i < H; ++i)
            s[at(h)][at(j)] += scale * product(c.q, c.qb, m, h * H + i) *
                               product(c.k, c.kb, b * c.tokens + j, h * H + i);
      for (index_t h = 0; h < N; ++h) {
        double sum = 0;
        for (index_t j = 0; j < S; ++j) {
          double mixed = c.scores_bias[at(h)];
          for (index_t g = 0; g < N; ++g)
            mixed += double{c.scores[at(h * N + g)]} * s[at(g)][at(j)];
          sum += p[at(h)][at(j)] = std::exp(mixed);
        }
        for (double& e : p[at(h)]) e /= sum;
      }
      std::vector<double> mixed_values(at(D));
      for (index_t h = 0; h < N; ++h)
        for (index_t j = 0; j < S; ++j) {
          double weight = c.weights_bias[at(h)];
          for (index_t g = 0; g < N; ++g)
            weight += double{c.weights[at(h * N + g)]} * p[at(g)][at(j)];
          for (index_t i = 0; i < H; ++i)
            mixed_values[at(h * H + i)] += weight * product(c.v, c.vb, b * c.tokens + j, h * H + i);
        }
      for (index_t n = 0; n < D; ++n) {
        double sum = c.ob[at(n)];
        for (index_t i = 0; i < D; ++i) sum += double{c.o[at(n * D + i)]} * mixed_values[at(i)];
        y[at(m * D + n)] = sum;
      }
    }
  return y;
}

template <class B>
void check(float scale) {
  Case c;
  support::Random random(5);
  const index_t D = c.d.d_model, N = c.d.n_heads;
  const auto draw = [&](Floats& to, index_t count, float spread) {
    to.resize(at(count));
    for (float& value : to) value = spread * static_cast<float>(random.normal());
  };
  draw(c.x, c.batch * c.tokens * D, 1.f);
  for (Floats* w : {&c.q, &c.k, &c.v, &c.o}) draw(*w, D * D, 0.4f);
  for (Floats* w : {&c.qb, &c.kb, &c.vb, &c.ob}) draw(*w, D, 0.3f);
  draw(c.scores, N * N, 0.8f);
  draw(c.weights, N * N, 0.8f);
  draw(c.scores_bias, N, 0.3f);
  draw(c.weights_bias, N, 0.3f);

  TalkingHeads::Weights w;
  TalkingHeads::visit(
      w, {}, c.d, [&](std::string_view name, auto& view, std::initializer_list<index_t> extents) {
        const std::pair<std::string_view, Floats*> all[] = {{"q", &c.q},
                                                            {"k", &c.k},
                                                            {"v", &c.v},
                                                            {"o", &c.o},
                                                            {"q_bias", &c.qb},
                                                            {"k_bias", &c.kb},
                                                            {"v_bias", &c.vb},
                                                            {"o_bias", &c.ob},
                                                            {"scores", &c.scores},
                                                            {"scores_bias", &c.scores_bias},
                                                            {"weights", &c.weights},
                                                            {"weights_bias", &c.weights_bias}};
        for (const auto& [known, values] : all) {
          if (name != known) continue;
          if constexpr (requires { view.rows(); })
            view = MatrixView<float>(values->data(), {extents.begin()[0], extents.begin()[1]});
          else
            view = VectorView<const float>(values->data(), {extents.begin()[0]});
          return;
        }
        ADD_FAILURE() << name;
      });
  Context<B> ctx;
  TokenBatch batch(c.batch, c.tokens);
  batch.set_lengths({c.lengths.data(), {c.batch}});
  Floats y(c.x.size(), NAN);
  const index_t M = batch.rows();
  TalkingHeads::apply(ctx, {.scale = scale}, w, c.d, batch, nullptr,
                      MatrixView<const float>(c.x.data(), {M, D}),
                      MatrixView<float>(y.data(), {M, D}));
  const auto want = expected(c, scale != 0.f ? double{scale} : 1 / std::sqrt(5.0));
  for (index_t b = 0; b < c.batch; ++b) {
    const auto first = b * c.tokens * D, end = first + c.lengths[at(b)] * D;
    EXPECT_TRUE(support::all_close(Floats(y.begin() + first, y.begin() + end),
                                   std::vector<double>(want.begin() + first, want.begin() + end),
                                   2e-5 * support::max_magnitude(want)));
  }
  TalkingHeads::State state;
  EXPECT_THROW(TalkingHeads::apply(ctx, {}, w, c.d, batch, &state,
                                   MatrixView<const float>(c.x.data(), {M, D}),
                                   MatrixView<float>(y.data(), {M, D})),
               ValueError);
}

TEST(TalkingHeads, EqualTheOracle) {
  check<backend::ScalarCpu>(0.f);
  check<backend::SimdCpu>(0.3f);
}

}  // namespace
