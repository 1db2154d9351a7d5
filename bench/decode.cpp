// Attention of one new token over a cache, in shares of the memory's read bandwidth.
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/nn/kv_cache.hpp>
#include <ashlar/ops/attention_decode.hpp>
#include <ashlar/ops/attention_naive.hpp>
#include <ashlar/simd.hpp>

#include "report.hpp"

namespace {

using namespace bench;

struct Shape {
  index_t width, heads, kv_heads;
};

template <class E>
void measure_decode(benchmark::State& state, Shape shape, index_t depth, int threads) {
  const index_t D = shape.width, N = shape.heads, K = shape.kv_heads;
  ashlar::Buffer<float> q(N * D), k(depth * K * D), v(depth * K * D), out(N * D), expected(N * D);
  fill_random(q.data(), q.size(), 1);
  fill_random(k.data(), k.size(), 2);
  fill_random(v.data(), v.size(), 3);
  for (ashlar::Buffer<float>* b : {&k, &v})
    for (float& x : *b) x = static_cast<float>(static_cast<E>(x));  // as the cache stores it
  const ashlar::TensorView<const float, 4> queries(q.data(), {1, 1, N, D});
  const ashlar::TensorView<const float, 4> keys(k.data(), {1, depth, K, D});
  const ashlar::TensorView<const float, 4> values(v.data(), {1, depth, K, D});
  const ashlar::AttentionOptions<ashlar::CausalMask> options;

  // One cache a layer, used in turns, so that keys and values come from memory.
  const double bytes = 2. * static_cast<double>(depth * K * D) * sizeof(E);
  const auto layers = static_cast<std::size_t>(double{1 << 28} / bytes) + 1;
  std::vector<ashlar::KvCache<E>> caches;
  for (std::size_t i = 0; i < layers; ++i) {
    caches.emplace_back(1, depth, K, D, D);
    caches.back().append(executor(thread_counts().back()), keys, values);
  }
  ashlar::Context<ashlar::backend::SimdCpu> ctx(executor(threads));
  std::size_t layer = 0;
  const auto work = [&] {
    ashlar::attention_decode(ctx, queries, caches[layer].tiles(),
                             ashlar::TensorView<float, 4>(out.data(), {1, 1, N, D}), options);
    layer = (layer + 1) % layers;
  };
  work();
  ashlar::attention_naive(ctx, queries, keys, values,
                          ashlar::TensorView<float, 4>(expected.data(), {1, 1, N, D}), options);
  expect_agree("attention_decode", out.data(), expected.data(), out.size(), 1e-5);

  static ReadProbe read;
  const auto rounds =
      measure(state, threads, bytes, work, [&](double) { return read(ctx.executor()); });
  state.counters["GB/s"] = rounds.rate(0) * 1e-9;
  state.counters["read GB/s"] = rounds.rate(1) * 1e-9;
  state.counters["of read"] = rounds.ratio(0, 1);
}

template <class E>
void add_cache(const std::string& type) {
  for (const Shape shape : {Shape{64, 9, 3}, Shape{128, 16, 4}})
    for (index_t depth = 512; depth <= 8192; depth *= 2)
      for (const int threads : thread_counts())
        add(type + "/d" + std::to_string(shape.width) + "/group" +
                std::to_string(shape.heads / shape.kv_heads) + "/depth" + std::to_string(depth) +
                "/threads" + std::to_string(threads),
            [=](benchmark::State& state) { measure_decode<E>(state, shape, depth, threads); });
}

}  // namespace

int main(int argc, char** argv) {
  add_cache<float>("F32");
  add_cache<ashlar::half>("F16");
  add_cache<ashlar::bfloat16>("BF16");
  return run_benchmarks(argc, argv);
}
