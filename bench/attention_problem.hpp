// Attention to be measured: one prompt of N tokens, and the three ways to compute it.
#pragma once

#include <Eigen/Core>
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/simd.hpp>
#include <vector>

#include "report.hpp"

namespace bench {

using Simd = ashlar::backend::SimdCpu;

/// Naive attention as one writes it with Eigen: per head, the scores as a matrix. Returns the bytes
/// that the scores take.
inline double attention_eigen(const ashlar::Executor& e, ashlar::TensorView<const float, 4> q,
                              ashlar::TensorView<const float, 4> k,
                              ashlar::TensorView<const float, 4> v,
                              ashlar::TensorView<float, 4> out, bool causal) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  const index_t N = q.extent(1), H = q.extent(3);
  const auto head_of = [&](const auto& x, index_t n) {
    return Eigen::Map<const Matrix, 0, Stride>(x.data() + n * H, N, H, Stride(x.stride(1)));
  };
  std::vector<Matrix> scores(static_cast<std::size_t>(e.workers));
  ashlar::parallel_for(e, q.extent(2), [&](index_t n, int worker) {
    Matrix& S = scores[static_cast<std::size_t>(worker)];
    const float scale = 1.f / std::sqrt(static_cast<float>(H));
    S.noalias() = scale * head_of(q, n) * head_of(k, n).transpose();
    for (index_t t = 0; t < N; ++t) {
      auto row = S.row(t);
      if (causal) row.tail(N - 1 - t).setConstant(-std::numeric_limits<float>::infinity());
      row = (row.array() - row.maxCoeff()).exp();
      row /= row.sum();
    }
    Eigen::Map<Matrix, 0, Stride>(out.data() + n * H, N, H, Stride(out.stride(1))).noalias() =
        S * head_of(v, n);
  });
  double bytes = 0;
  for (const Matrix& S : scores) bytes += static_cast<double>(S.size()) * sizeof(float);
  return bytes;
}

enum class Way { tiled, naive, eigen };
constexpr Way ways[] = {Way::tiled, Way::naive, Way::eigen};
constexpr const char* name_of(Way w) {
  return w == Way::tiled ? "tiled" : w == Way::naive ? "naive" : "eigen";
}

class AttentionProblem {
 public:
  AttentionProblem(index_t width, index_t tokens, index_t heads, bool causal)
      : width_(width), tokens_(tokens), heads_(heads), causal_(causal) {
    unsigned seed = 0;
    for (ashlar::Buffer<float>* b : {&q_, &k_, &v_, &out_, &expected_}) {
      *b = ashlar::Buffer<float>(tokens * heads * width);
      fill_random(b->data(), b->size(), ++seed);
    }
    Eigen::setNbThreads(1);  // threads are the executor's
    attention_eigen(executor(thread_counts().back()), view(q_), view(k_), view(v_), out(expected_),
                    causal);
  }

  bool is(index_t width, index_t tokens, bool causal) const {
    return width == width_ && tokens == tokens_ && causal == causal_;
  }
  /// Products only, causal ones counted half.
  double flops() const {
    return (causal_ ? 2. : 4.) * static_cast<double>(tokens_ * tokens_ * width_ * heads_);
  }

  /// Computes it once and returns the bytes it takes beside its tensors.
  double run(Way way, ashlar::Context<Simd>& ctx) {
    if (way == Way::eigen)
      return attention_eigen(ctx.executor(), view(q_), view(k_), view(v_), out(out_), causal_);
    const auto by_mask = [&](const auto& options) {
      if (way == Way::tiled)
        ashlar::attention(ctx, view(q_), view(k_), view(v_), out(out_), options);
      else
        ashlar::attention_naive(ctx, view(q_), view(k_), view(v_), out(out_), options);
    };
    if (causal_)
      by_mask(ashlar::AttentionOptions<ashlar::CausalMask>{});
    else
      by_mask(ashlar::AttentionOptions<>{});
    return static_cast<double>(ctx.scratch().peak_bytes());
  }
  /// Ends the program unless this way gives what Eigen gave. Returns the extra bytes.
  double check(Way way, ashlar::Context<Simd>& ctx) {
    std::fill(out_.begin(), out_.end(), 0.f);
    const double bytes = run(way, ctx);
    expect_agree(std::string("attention, ") + name_of(way), out_.data(), expected_.data(),
                 out_.size(), 1e-5);
    return bytes;
  }

 private:
  ashlar::TensorView<const float, 4> view(const ashlar::Buffer<float>& b) const {
    return {b.data(), {1, tokens_, heads_, width_}};
  }
  ashlar::TensorView<float, 4> out(ashlar::Buffer<float>& b) const {
    return {b.data(), {1, tokens_, heads_, width_}};
  }
  index_t width_, tokens_, heads_;
  bool causal_;
  ashlar::Buffer<float> q_, k_, v_, out_, expected_;
};

}  // namespace bench
