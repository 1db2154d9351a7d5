// V14 in a build with checks: memory that overlaps in part is an error of every op.
#if !defined(ASHLAR_DEBUG_CHECKS)
#  define ASHLAR_DEBUG_CHECKS
#endif
#include "rows.hpp"

namespace {

using namespace ashlar;
using rows::Floats;

template <class B>
struct DebugChecks : rows::Op<B> {
  Floats memory = Floats(64, 1.f);
  MatrixView<float> at(index_t offset) { return {memory.data() + offset, {2, 8}}; }
  MatrixView<const float> in(index_t offset) { return at(offset); }
};
TYPED_TEST_SUITE(DebugChecks, rows::Backends);

TYPED_TEST(DebugChecks, ContractV14PartialOverlapIsAnError) {
  auto& c = this->ctx;
  const auto x = this->in(0), apart = this->in(40);
  const auto refused = [](auto op) { return rows::message<ValueError>(op); };
  for (const index_t offset : {1, 8, 15}) {
    const auto y = this->at(offset);
    EXPECT_EQ(refused([&] { rms_norm(c, x, {}, y, 0.f); }), "rms_norm: y overlaps x in part");
    EXPECT_EQ(refused([&] { layer_norm(c, x, {}, {}, y, 0.f); }),
              "layer_norm: y overlaps x in part");
    EXPECT_EQ(refused([&] { softmax(c, x, y); }), "softmax: y overlaps x in part");
    EXPECT_EQ(refused([&] { activation<act::Relu>(c, x, y); }), "activation: y overlaps x in part");
    EXPECT_EQ(refused([&] { swiglu(c, x, apart, y); }), "glu: y overlaps gate in part");
    EXPECT_EQ(refused([&] { swiglu(c, apart, x, y); }), "glu: y overlaps up in part");
    EXPECT_EQ(refused([&] { residual_add(c, x, {}, y); }), "residual_add: x overlaps branch");
  }
  EXPECT_EQ(refused([&] { residual_add(c, x, {}, this->at(0)); }),
            "residual_add: x overlaps branch");
}
TYPED_TEST(DebugChecks, ContractV14NeighboursAndTheSameViewAreFine) {
  auto& c = this->ctx;
  for (const index_t offset : {0, 16}) {
    rms_norm(c, this->in(0), {}, this->at(offset), 0.f);
    swiglu(c, this->in(0), this->in(40), this->at(offset));
  }
  residual_add(c, this->in(0), {}, this->at(16));
}
TYPED_TEST(DebugChecks, IndexOutsideIsAnError) {
  const auto x = this->at(0);
  EXPECT_EQ(rows::message<ValueError>([&] { x(2, 0); }),
            "TensorView: index 2 in dimension 0 of extent 2");
  EXPECT_EQ(rows::message<ValueError>([&] { x(0, -1); }),
            "TensorView: index -1 in dimension 1 of extent 8");
  EXPECT_EQ(x(1, 7), 1.f);
}

}  // namespace
