// A score of your own, in a model on SIMD kernels: what happens to scale * (q . k) before softmax.
#include "common/own_model.hpp"

using namespace ashlar;

// s - slope * sqrt(q - k): a bias that falls with the root of the distance. Every attention kernel
// calls it with the score, the sequence, the head and both positions; SoftCap shows how a score is
// written that runs on vectors.
struct RootBias {
  float slope = 0.5f;
  float operator()(float s, index_t /*sequence*/, index_t /*head*/, index_t q, index_t k) const {
    return s - slope * std::sqrt(static_cast<float>(q - k));
  }
};

struct MySpec : LlamaSpec {
  using Mixer = Attention<Rope, NoQkNorm, CausalMask, RootBias>;
};

int main() {
  return examples::run_own_model<MySpec>("a score of its own", [](auto& layer) {
    layer.mixer.position.rule.width = layer.dims.head_dim;
    layer.mixer.score.slope = 0.3f;
  });
}
