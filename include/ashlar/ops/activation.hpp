// activation and gated activation: y = f(x), y = f(gate) * up.
#pragma once

#include <ashlar/backend/scalar.hpp>
#include <ashlar/core/math.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Activations as types; each is called with a float, a double or a vector.
namespace act {
struct Identity {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return x;
  }
};
struct Relu {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return math::relu(x);
  }
};
/// max(x, 0)^2. Source: So et al. 2021, Primer.
struct ReluSquared {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return math::relu_squared(x);
  }
};
struct Sigmoid {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return math::sigmoid(x);
  }
};
/// x sigmoid(x). Source: Elfwing et al. 2017.
struct Silu {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return math::silu(x);
  }
};
/// x Phi(x). Source: Hendrycks and Gimpel 2016.
struct Gelu {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return math::gelu_erf(x);
  }
};
/// The same with Phi by tanh, "gelu_new" and "gelu_pytorch_tanh".
struct GeluTanh {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return math::gelu_tanh(x);
  }
};
/// x sigmoid(1.702 x).
struct GeluQuick {
  template <class V>
  ASHLAR_HD static V apply(V x) {
    return math::gelu_quick(x);
  }
};
/// Stands where a type is expected for "the configuration says which": an ActivationKind.
struct Chosen {};
}  // namespace act

template <class A>
concept Activation = requires(float x, double y) {
  { A::apply(x) } -> std::same_as<float>;
  { A::apply(y) } -> std::same_as<double>;
};

/// The activations above as a number of a configuration.
enum class ActivationKind {
  identity,
  relu,
  relu_squared,
  sigmoid,
  silu,
  gelu,
  gelu_tanh,
  gelu_quick
};

/// f(act::Silu{}) for ActivationKind::silu, and so on: the one place where a number becomes a type.
/// Throws ValueError for a number that is none of them.
template <class F>
decltype(auto) with_activation(ActivationKind kind, F&& f) {
  switch (kind) {
    case ActivationKind::identity:
      return f(act::Identity{});
    case ActivationKind::relu:
      return f(act::Relu{});
    case ActivationKind::relu_squared:
      return f(act::ReluSquared{});
    case ActivationKind::sigmoid:
      return f(act::Sigmoid{});
    case ActivationKind::silu:
      return f(act::Silu{});
    case ActivationKind::gelu:
      return f(act::Gelu{});
    case ActivationKind::gelu_tanh:
      return f(act::GeluTanh{});
    case ActivationKind::gelu_quick:
      return f(act::GeluQuick{});
  }
  fail<ValueError>("activation: number ", static_cast<int>(kind), ", expected 0 to ",
                   static_cast<int>(ActivationKind::gelu_quick));
}

/// What a layer is given as its activation: a type, or act::Chosen.
template <class A>
concept ActivationChoice = Activation<A> || std::same_as<A, act::Chosen>;
/// The field of a layer's Config: empty for a type, the number for act::Chosen.
template <ActivationChoice A>
using ActivationField = std::conditional_t<std::same_as<A, act::Chosen>, ActivationKind, A>;
/// What such a field holds.
template <class A>
concept ActivationValue = Activation<A> || std::same_as<A, ActivationKind>;

namespace kernels {

template <class B>
struct ActivationKernel : ActivationKernel<typename B::fallback> {};
template <>
struct ActivationKernel<backend::None> {};

template <>
struct ActivationKernel<backend::ScalarCpu> {
  template <class Act, Element T>
  static void run(HostContext& ctx, Act, MatrixView<const T> x, MatrixView<T> y) {
    using A = accumulator_t<T>;
    parallel_for(ctx.executor(), x.extent(0), [&](index_t m, int) {
      for (index_t i = 0; i < x.extent(1); ++i)
        y(m, i) = static_cast<T>(Act::apply(static_cast<A>(x(m, i))));
    });
  }
};

template <class B>
struct GluKernel : GluKernel<typename B::fallback> {};
template <>
struct GluKernel<backend::None> {};

template <>
struct GluKernel<backend::ScalarCpu> {
  template <class Act, Element T>
  static void run(HostContext& ctx, Act, MatrixView<const T> gate, MatrixView<const T> up,
                  MatrixView<T> y) {
    using A = accumulator_t<T>;
    parallel_for(ctx.executor(), gate.extent(0), [&](index_t m, int) {
      for (index_t i = 0; i < gate.extent(1); ++i)
        y(m, i) = static_cast<T>(Act::apply(static_cast<A>(gate(m, i))) * static_cast<A>(up(m, i)));
    });
  }
};

}  // namespace kernels

/// y = f(x) element by element.
///
/// Shapes   x, y [M, D]
/// Dtypes   x and y alike, computed in f32 (f64 for double)
/// Throws   ShapeError
/// Alias    y may be x
template <Activation Act, Backend B, Element T>
void activation(Context<B>& ctx, MatrixView<const T> x, std::type_identity_t<MatrixView<T>> y) {
  expect_shape("activation", "y", y, {x.extent(0), x.extent(1)});
  expect_no_overlap("activation", "y", y, "x", x, true);
  kernels::ActivationKernel<B>::run(ctx, Act{}, x, y);
}

/// The same with the activation as a value: act::Silu{} or ActivationKind::silu.
/// Shapes   x, y [M, D]
template <Backend B, ActivationValue Act, Element T>
void activation(Context<B>& ctx, Act f, MatrixView<const T> x,
                std::type_identity_t<MatrixView<T>> y) {
  if constexpr (Activation<Act>)
    activation<Act>(ctx, x, y);
  else
    with_activation(f, [&]<class A>(A) { activation<A>(ctx, x, y); });
}

/// Gated linear unit: y = f(gate) * up; SwiGLU with Silu, GeGLU with Gelu, GLU with Sigmoid.
/// Source: Shazeer 2020.
///
/// Shapes   gate, up, y [M, F]
/// Dtypes   all alike, computed in f32 (f64 for double)
/// Throws   ShapeError
/// Alias    y may be gate or up
template <Activation Act, Backend B, Element T>
void glu(Context<B>& ctx, MatrixView<const T> gate, std::type_identity_t<MatrixView<const T>> up,
         std::type_identity_t<MatrixView<T>> y) {
  expect_shape("glu", "up", up, {gate.extent(0), gate.extent(1)});
  expect_shape("glu", "y", y, {gate.extent(0), gate.extent(1)});
  expect_no_overlap("glu", "y", y, "gate", gate, true);
  expect_no_overlap("glu", "y", y, "up", up, true);
  kernels::GluKernel<B>::run(ctx, Act{}, gate, up, y);
}

/// The same with the activation as a value: act::Silu{} or ActivationKind::silu.
/// Shapes   gate, up, y [M, F]
template <Backend B, ActivationValue Act, Element T>
void glu(Context<B>& ctx, Act f, MatrixView<const T> gate,
         std::type_identity_t<MatrixView<const T>> up, std::type_identity_t<MatrixView<T>> y) {
  if constexpr (Activation<Act>)
    glu<Act>(ctx, gate, up, y);
  else
    with_activation(f, [&]<class A>(A) { glu<A>(ctx, gate, up, y); });
}

/// silu(gate) * up.
/// Shapes   gate, up, y [M, F]
template <Backend B, Element T>
void swiglu(Context<B>& ctx, MatrixView<const T> gate, std::type_identity_t<MatrixView<const T>> up,
            std::type_identity_t<MatrixView<T>> y) {
  glu<act::Silu>(ctx, gate, up, y);
}

}  // namespace ashlar::inline ASHLAR_ABI
