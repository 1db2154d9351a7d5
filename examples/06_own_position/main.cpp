// A position scheme of your own, in a model on SIMD kernels.
#include "common/own_model.hpp"

using namespace ashlar;

// Queries and keys are scaled by a wave of their position: what a scheme does to a head's elements
// is its own affair, and the batch knows the position of every row.
struct Waves {
  struct Config {
    float length = 100.f;
  };
  template <Backend B, Element T>
  static void apply(Context<B>&, const Config& c, const TokenBatch& batch, TensorView<T, 3> x) {
    for (index_t m = 0; m < x.extent(0); ++m)
      for (index_t h = 0; h < x.extent(1); ++h)
        for (index_t i = 0; i < x.extent(2); ++i) {
          const T angle = T(batch.positions()(m) * (i + 1)) / T(c.length);
          x(m, h, i) *= T(1) + T(0.5) * std::sin(angle);
        }
  }
};

struct MySpec : LlamaSpec {
  using Mixer = Attention<Waves>;
};

int main() {
  return examples::run_own_model<MySpec>("positions of its own",
                                         [](auto& layer) { layer.mixer.position.length = 40.f; });
}
