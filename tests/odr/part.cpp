// The same code in two objects of one program, each with its own -m flags.
#include <ashlar/ashlar.hpp>
#if __has_include(<xsimd/xsimd.hpp>)
#  include <ashlar/simd.hpp>
using Backend = ashlar::backend::SimdCpu;
#else
using Backend = ashlar::backend::ScalarCpu;
#endif

float PART(const float* x, int n);

float PART(const float* x, int n) {
  ashlar::Buffer<float> gain(n), y(n);
  for (int i = 0; i < n; ++i) gain.data()[i] = 1.f;
  ashlar::Context<Backend> ctx;
  ashlar::rms_norm(ctx, ashlar::MatrixView<const float>(x, {1, n}),
                   ashlar::VectorView<const float>(gain.data(), {n}),
                   ashlar::MatrixView<float>(y.data(), {1, n}), 0.f);
  return y.data()[n - 1];
}
