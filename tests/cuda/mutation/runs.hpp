// The cases that every mutant of the kernels must fail, and the kernels themselves pass. The script
// mutate.py compiles this text once for each mutant, with namespaces of its own.

namespace cuda_test {

using namespace ashlar;
using emulation::Copies;

/// A window that differs between heads, and tells when it is asked about a pair that is not there.
struct StrictWindow {
  index_t width = 0, queries = 0, keys = 0;
  bool* strayed = nullptr;

  bool keep(index_t, index_t h, index_t q, index_t k) const {
    if (q < keys - queries || q >= keys || k < 0 || k >= keys) *strayed = true;
    return k <= q && k > q - width * (h + 1);
  }
  TileKind classify(index_t, index_t h, index_t q0, index_t q1, index_t k0, index_t k1) const {
    if (q0 < keys - queries || q0 >= q1 || q1 > keys || k0 < 0 || k1 > keys) *strayed = true;
    const index_t w = width * (h + 1);
    if (k0 > q1 - 1 || k1 - 1 <= q0 - w) return TileKind::skip;
    return k1 - 1 <= q0 && k0 > q1 - 1 - w ? TileKind::full : TileKind::partial;
  }
};

inline oracle::AttentionOptions strict_window(index_t width) {
  oracle::AttentionOptions o;
  o.keep = [width](index_t, index_t h, index_t q, index_t k) {
    return k <= q && k > q - width * (h + 1);
  };
  return o;
}
constexpr emulation::Schedule both[] = {{Copies::lazy, 1}, {Copies::eager, 2}};

template <class Kernel, class Case>
void expect_free_of_conflicts(Case& c, const typename Kernel::Arguments& a,
                              emulation::Schedule schedule) {
  const auto counters = c.template expect_oracle<Kernel>(a, schedule);
  EXPECT_EQ(counters.wavefronts, 4 * counters.matrix_loads) << "bank conflicts";
}

}  // namespace cuda_test

// runs: forward
namespace cuda_test {

inline void forward_runs() {
  for (const auto schedule : both) {
    bool strayed = false;
    oracle::AttentionOptions o = strict_window(20);
    o.scale = -0.1;
    o.sinks = {0.5, 1, -3, 4};
    AttentionCase<bfloat16> c({1, 70, 150, 4, 2, 56, 40}, o);
    auto p = c.padded(StrictWindow{20, 70, 150, &strayed}, NoScore{});
    expect_free_of_conflicts<cuda::AttentionForward<decltype(p), 64, 64>>(c, p, schedule);
    EXPECT_FALSE(strayed);
  }
  // The mask shows tiles whole that have keys for one row only.
  oracle::AttentionOptions o;
  o.softcap = 2;
  o.q_lengths = {20, 3, 0};
  o.kv_lengths = {40, 66, 20};
  AttentionCase<half> c({3, 20, 66, 2, 1, 72, 72}, o);
  auto capped = c.packed(NoMask{}, SoftCap(2.f));
  expect_free_of_conflicts<cuda::AttentionForward<decltype(capped), 128, 128>>(c, capped, both[0]);
  c.options.softcap = 0;
  auto plain = c.packed(NoMask{}, NoScore{});
  expect_free_of_conflicts<cuda::AttentionForward<decltype(plain), 128, 128>>(c, plain, both[1]);
}

}  // namespace cuda_test

// runs: decode
namespace cuda_test {

inline void decode_runs() {
  for (const auto schedule : both) {
    bool strayed = false;
    oracle::AttentionOptions o = strict_window(110);
    o.kv_lengths = {600};
    o.sinks = {0.5, 1, -3, 4, 0, 2};
    o.scale = -0.1;
    AttentionCase<bfloat16> c({1, 7, 600, 6, 2, 64, 56}, o);
    auto p = c.paged(StrictWindow{110, 7, 600, &strayed}, NoScore{}, 4);
    const index_t splits = 3, rows = 6 * 7;
    support::PoisonedBuffer<float> out(rows * splits * 56);
    support::PoisonedBuffer<SoftmaxState<float>> state(rows * splits);
    const cuda::DecodeArguments<decltype(p)> a{p, {out.data(), state.data(), splits, 448}};
    try {
      const auto counters =
          emulation::launch<cuda::AttentionDecode<decltype(p), 64, 64>>(a, schedule);
      EXPECT_EQ(counters.wavefronts, 4 * counters.matrix_loads) << "bank conflicts";
      c.template expect_oracle<cuda::AttentionCombine<decltype(p)>>(a, schedule);
    } catch (const emulation::Fault& fault) {
      ADD_FAILURE() << fault.what();
    }
    EXPECT_FALSE(strayed);
  }
}

}  // namespace cuda_test

// runs: fallback
namespace cuda_test {

inline void fallback_runs() {
  for (const auto schedule : both) {
    bool strayed = false;
    oracle::AttentionOptions o = strict_window(20);
    o.sinks = {0.5, 1, -3, 4};
    o.scale = -0.1;
    AttentionCase<float> c({1, 21, 90, 4, 2, 40, 37}, o);
    auto p = c.padded(StrictWindow{20, 21, 90, &strayed}, NoScore{}, 0);
    using Kernel = cuda::AttentionFallback<decltype(p)>;
    c.template expect_oracle<Kernel>(p, schedule);
    EXPECT_FALSE(strayed);
    // What the first rows do not see may hold anything.
    const auto before = c.answer().out;
    const_cast<float&>(p.kv.v(0, 89, 0, 0)) = NAN;
    emulation::launch<Kernel>(p, schedule);
    const auto after = c.answer().out;
    for (std::size_t i = 0; i < 20u * 4 * 37; ++i) EXPECT_EQ(after[i], before[i]);
  }
}

}  // namespace cuda_test

// runs: tf32
namespace cuda_test {

inline void tf32_runs() {
  for (const auto schedule : both) {
    bool strayed = false;
    oracle::AttentionOptions o = strict_window(20);
    o.sinks = {0.5, 1, -3, 4};
    o.scale = -0.1;
    AttentionCase<float> c({1, 70, 90, 4, 2, 40, 36}, o);
    c.score_rounding = c.value_rounding = 0x1.01p-11;
    auto p = c.padded(StrictWindow{20, 70, 90, &strayed}, NoScore{});
    c.template expect_oracle<cuda::AttentionTf32<decltype(p), 64, 64>>(p, schedule);
    EXPECT_FALSE(strayed);
  }
}

}  // namespace cuda_test
