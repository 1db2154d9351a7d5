// The cases for faults of the attention kernel of sm_90a; see runs.hpp. A block takes several tiles
// of queries, which see more tiles of keys than a ring has places.

// runs: sm90
namespace cuda_test {

struct Sm90Overlapped {
  static constexpr int consumers = 2, keys = 80;
  static constexpr bool overlap = true;
};

inline void sm90_runs() {
  for (const auto schedule : both) {
    bool strayed = false;
    oracle::AttentionOptions o = strict_window(130);
    o.scale = -0.1;
    o.sinks = {0.5, -3};
    AttentionCase<bfloat16> c({1, 135, 330, 2, 1, 56, 40}, o);
    auto p = c.padded(StrictWindow{130, 135, 330, &strayed}, NoScore{});
    c.template expect_oracle<cuda::AttentionForwardSm90<decltype(p), 64, 64, Sm90Overlapped>>(
        {p, 1}, schedule);
    EXPECT_FALSE(strayed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace cuda_test

// runs: sm90_plain
namespace cuda_test {

struct Sm90Plain {
  static constexpr int consumers = 2, keys = 80;
  static constexpr bool overlap = false;
};

/// NaN behind the last keys and queries, panels beside each other, the plain schedule.
inline void sm90_plain_runs() {
  oracle::AttentionOptions o;
  o.q_lengths = {129, 3};
  o.kv_lengths = {245, 90};
  AttentionCase<half> c({2, 129, 250, 2, 2, 72, 72}, o);
  for (const auto schedule : both) {
    auto p = c.padded(NoMask{}, NoScore{});
    c.template expect_oracle<cuda::AttentionForwardSm90<decltype(p), 128, 128, Sm90Plain>>(
        {p, 2}, schedule);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace cuda_test
