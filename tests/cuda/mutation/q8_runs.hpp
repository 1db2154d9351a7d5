// The cases for faults of the kernels of quantised caches; see runs.hpp.

// runs: q8
namespace cuda_test {

template <class Case, class Problem>
void expect_q8_decode(Case& c, const Problem& p, emulation::Schedule schedule) {
  const index_t splits = ceil_div(c.s.S, 192), rows = c.s.B * c.s.N * c.s.T;
  support::PoisonedBuffer<float> out(rows * splits * c.s.Hv);
  support::PoisonedBuffer<SoftmaxState<float>> state(rows * splits);
  const cuda::DecodeArguments<Problem> a{p, {out.data(), state.data(), splits, 192}};
  try {
    const auto counters = emulation::launch<cuda::AttentionDecode<Problem, 128, 128>>(a, schedule);
    EXPECT_EQ(counters.wavefronts, 4 * counters.matrix_loads) << "bank conflicts";
    c.template expect_oracle<cuda::AttentionCombine<Problem>>(a, schedule);
  } catch (const emulation::Fault& fault) {
    ADD_FAILURE() << fault.what();
  }
}

/// Rows of 80 keys' and 40 values' elements behind older ones, by the rule's bits.
inline void expect_append() {
  using Codes = support::PoisonedTensor<std::int8_t, 4>;
  using Scales = support::PoisonedTensor<half, 4>;
  support::Random random(5);
  const std::ptrdiff_t widths[] = {80, 40};
  support::PoisonedTensor<float, 4> k({2, 3, 2, 80}, 3), v({2, 3, 2, 40}, 5);
  k.assign<float>(random.normals<float>(2 * 3 * 2 * 80));
  v.assign<float>(random.normals<float>(2 * 3 * 2 * 40));
  Codes k_codes({2, 9, 2, 80}, 16), v_codes({2, 9, 2, 40}, 8);
  Scales k_scales({2, 9, 2, 4}, 2), v_scales({2, 9, 2, 2}, 2);
  const auto view = [](auto& x) {
    return TensorView<std::remove_reference_t<decltype(*x.data())>, 4>(x.data(), x.extents(),
                                                                       x.strides());
  };
  using Rows = cuda::KeyRows<Q8_0>;
  const std::vector<index_t> before = {2, 6};
  cuda::AppendQ8Arguments<float, Rows> a{};
  a.k = view(k);
  a.v = view(v);
  a.cache = {{view(k_codes), view(k_scales)}, {view(v_codes), view(v_scales)}};
  a.lengths = before.data();
  a.most_tokens = 3;
  emulation::launch<cuda::AppendQ8<float, Rows>>(a);
  EXPECT_TRUE(k_codes.gaps_intact() && v_codes.gaps_intact()) << "written outside";
  std::vector<std::int8_t> codes(80);
  std::vector<half> scales(4);
  for (index_t i = 0; i < 2 * 3 * 2 * 2; ++i) {
    const index_t b = i / 12, t = i / 4 % 3, h = i / 2 % 2, slot = before[to_size(b)] + t;
    const bool of_keys = i % 2 == 0;
    const index_t width = widths[i % 2];
    Q8_0::round_row(of_keys ? &a.k(b, t, h, 0) : &a.v(b, t, h, 0), width, codes.data(),
                    scales.data());
    const Q8Row got = of_keys ? a.cache.key(b, h, slot) : a.cache.value(b, h, slot);
    EXPECT_TRUE(std::equal(codes.begin(), codes.begin() + width, got.codes)) << "codes differ";
    for (index_t n = 0; n < Q8_0::scales(width); ++n)
      EXPECT_EQ(scales[to_size(n)].bits, got.scales[n].bits) << "scales differ";
  }
}

inline void q8_runs() {
  bool strayed = false;
  oracle::AttentionOptions o = strict_window(70);
  o.kv_lengths = {230};
  Q8Case<half> c({1, 5, 230, 4, 2, 80, 64}, o);
  const StrictWindow window{70, 5, 230, &strayed};
  expect_q8_decode(c, c.rows(window, NoScore{}), both[0]);
  expect_q8_decode(c, c.pages(window, NoScore{}, 4), both[1]);
  EXPECT_FALSE(strayed);
  expect_append();
}

}  // namespace cuda_test
