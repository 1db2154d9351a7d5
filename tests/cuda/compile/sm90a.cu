// A launch of the kernel of sm_90a, in a program that is compiled for it and for older devices.
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/cuda.cuh>

using namespace ashlar;
using Problem = cuda::AttentionProblem<half, cuda::KeyRows<half>, CausalMask, NoScore>;
using Kernel = cuda::AttentionForwardSm90<Problem, 64, 64>;

void launch_or_not(Context<backend::CudaGpu>& ctx, const Problem& p) {
  if (cuda::is_compiled<Kernel>(ctx.device()))
    cuda::launch<Kernel>(ctx, "test", {p, ctx.device().multiprocessors});
}

int main() {}
