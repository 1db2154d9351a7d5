// expect: (could not|cannot) convert|no known conversion|no matching function
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#if defined(FIXED)
using Out = float;
#else
using Out = double;
#endif

void f(Context<backend::ScalarCpu>& ctx, TensorView<const float, 4> x, TensorView<Out, 4> y) {
  attention(ctx, x, x, x, y, AttentionOptions<CausalMask>{});
}
