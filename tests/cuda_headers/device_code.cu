// One row of attention on the device, from the same masks, scores and online softmax as on the
// host.
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/none.hpp>
#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/attention/online_softmax.hpp>
#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/none.hpp>
#include <ashlar/attention/score/sequence.hpp>
#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/core/dtype.hpp>
#include <ashlar/core/view.hpp>

template <class Mask, class Score>
__global__ void attention_row(ashlar::MatrixView<const float> scores, ashlar::VectorView<float> out,
                              Mask mask, Score score, float sink) {
  const ashlar::index_t q = threadIdx.x, keys = scores.extent(1);
  ashlar::SoftmaxState<float> state;
  if (mask.classify(0, 0, q, q + 1, 0, keys) != ashlar::TileKind::skip) {
    for (ashlar::index_t k = 0; k < keys; ++k) {
      if (!mask.keep(0, 0, q, k)) continue;
      const float s = score(scores(q, k), ashlar::index_t(0), ashlar::index_t(0), q, k);
      ashlar::SoftmaxState<float> one{s * 1.44269504f, 1.f};
      ashlar::merge(state, one);
    }
  }
  ashlar::add_sink(state, sink);
  const auto rounded =
      static_cast<ashlar::bfloat16>(static_cast<float>(ashlar::log_sum_exp(state)));
  out(q) = static_cast<float>(rounded);
}

void launch(ashlar::MatrixView<const float> scores, ashlar::VectorView<float> out,
            ashlar::VectorView<const float> slopes) {
  using namespace ashlar;
  attention_row<<<1, 32>>>(scores, out, NoMask{}, NoScore{}, 0.f);
  attention_row<<<1, 32>>>(scores, out, CausalMask{}, SoftCap{50.f}, 0.f);
  attention_row<<<1, 32>>>(scores, out, CausalMask{} & SlidingWindow{16},
                           SoftCap{50.f} >> Alibi{slopes}, 0.f);
  attention_row<<<1, 32>>>(scores, out, CausalMask{} | SlidingWindow{16}, Alibi{slopes}, 0.f);
}
