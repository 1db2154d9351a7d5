// An activation of your own, in a model on SIMD kernels.
#include "common/own_model.hpp"

using namespace ashlar;

// x^2 / (1 + |x|). Written with math::Ops it is called with vectors on
// SIMD kernels; a plain function of float and double would be called element by element.
struct SoftSquare {
  template <class V>
  static V apply(V x) {
    using O = math::Ops<V>;
    return O::div(O::mul(x, x), O::add(O::set1(1), O::abs(x)));
  }
};

struct MySpec : LlamaSpec {
  using Ffn = Glu<SoftSquare>;  // gated: f(x G^T) * (x U^T); Mlp<SoftSquare> is the plain one
};

int main() {
  return examples::run_own_model<MySpec>("an activation of its own", [](auto& layer) {
    layer.mixer.position.rule.width = layer.dims.head_dim;
  });
}
