// After the first call no row op allocates.
#include "support/allocations.hpp"

#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats;

template <class B>
struct Allocations : rows::Op<B> {};
TYPED_TEST_SUITE(Allocations, rows::Backends);

TYPED_TEST(Allocations, NoneAfterTheFirstCall) {
  const index_t M = 7, D = 96;
  Floats a(M * D, 1.f), b(M * D, 2.f), table(M * 2 * 16, 0.5f), lse(M);
  const Floats gain(D, 1.f), weights(50 * D, 1.f);
  const std::vector<std::int32_t> tokens(M, 3);
  const MatrixView<float> x(a.data(), {M, D}), y(b.data(), {M, D});
  const MatrixView<const float> in = x;
  const WeightMatrix rows_of(MatrixView<const float>(weights.data(), {50, D}));
  const TensorView<const float, 3> angles(table.data(), {M, 2, 16});
  auto& c = this->ctx;
  const auto all = [&] {
    rms_norm(c, in, rows::vector(gain), y, 1e-5f);
    layer_norm(c, in, rows::vector(gain), rows::vector(gain), y, 1e-5f);
    rope(c, angles, RopePairing::half_split, split_heads(x, 3));
    rope(c, angles, RopePairing::interleaved, split_heads(x, 3));
    activation<act::Gelu>(c, in, y);
    swiglu(c, in, in, y);
    residual_add(c, in, rows::vector(gain), y);
    softmax(c, in, y, VectorView<float>(lse.data(), {M}));
    embedding(c, rows::vector(tokens), rows_of, y);
  };
  all();
  EXPECT_EQ(support::count_allocations(all), 0);
}

}  // namespace
