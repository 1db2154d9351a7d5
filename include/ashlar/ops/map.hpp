// map: x = f(x) element by element, with numbers that are known at run time only.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/core/math.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Functions of one element that carry numbers; each is called with a float, a double or a vector.
namespace fn {
struct Scale {
  float factor = 1.f;
  template <class V>
  ASHLAR_HD V operator()(V x) const {
    return x * V(factor);
  }
};
/// min(max(x, -limit), limit). Source: MPT's clip_qkv, OLMo 1.
struct Clip {
  float limit = 0.f;
  template <class V>
  ASHLAR_HD V operator()(V x) const {
    using O = math::Ops<V>;
    const V high(limit), low(-limit);
    return O::select(O::less(x, low), low, O::select(O::less(high, x), high, x));
  }
};
/// cap * tanh(x / cap). Source: Gemma 2 (2024).
struct SoftCap {
  float cap = 1.f;
  template <class V>
  ASHLAR_HD V operator()(V x) const {
    return V(cap) * math::tanh(V(x / V(cap)));
  }
};
}  // namespace fn

namespace kernels {

template <class B>
struct MapKernel : MapKernel<typename B::fallback> {};
template <>
struct MapKernel<backend::None> {};

template <>
struct MapKernel<backend::ScalarCpu> {
  template <class F, Element T>
  static void run(HostContext& ctx, const F& f, MatrixView<T> x) {
    using A = accumulator_t<T>;
    parallel_for(ctx.executor(), x.extent(0), [&](index_t m, int) {
      for (index_t i = 0; i < x.extent(1); ++i)
        x(m, i) = static_cast<T>(f(static_cast<A>(x(m, i))));
    });
  }
};

}  // namespace kernels

/// x = f(x), in place.
///
/// Shapes   x [M, D]
/// Dtypes   computed in f32 (f64 for double)
template <Backend B, class F, Element T>
void map(Context<B>& ctx, const F& f, MatrixView<T> x) {
  kernels::MapKernel<B>::run(ctx, f, x);
}

}  // namespace ashlar::inline ASHLAR_ABI
