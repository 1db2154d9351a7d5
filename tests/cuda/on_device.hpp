// Calls of ops whose arguments lie in a test's memory: on the emulated device, whose memory that
// is, or with copies on the real one.
#pragma once

#if defined(__CUDACC__)
#  include <ashlar/cuda.cuh>

#  include "emulation/launch.hpp"
#else
#  include "emulation/context.hpp"
#endif

namespace cuda_test {

using Gpu = ashlar::Context<ashlar::backend::CudaGpu>;

#if defined(__CUDACC__)
/// Calls run(context, problem with the device's addresses), on a real device twice from the same
/// memory, with the same bits or a Fault.
template <class Problem, class Run>
void on_device(const Problem& problem, std::size_t workspace_bytes, Run run) {
  auto& gpu = gpu_test::gpu();
  const gpu_test::Memory workspace(gpu, workspace_bytes);
  Gpu ctx(gpu.device, gpu.stream, workspace.data(), workspace_bytes);
  gpu_test::run_mirrored(gpu, problem, [&](const Problem& there) {
    run(ctx, there);
    ctx.synchronize();
  });
}
#else
template <class Problem, class Run>
void on_device(const Problem& problem, std::size_t workspace_bytes, Run run) {
  const auto device = emulation::host_device();
  void* workspace = device.allocate(workspace_bytes + 1);
  {
    Gpu ctx(device, nullptr, workspace, workspace_bytes);
    run(ctx, problem);
  }
  device.deallocate(workspace);
}
#endif

/// The public function for a problem: of padded rows, packed ones, or pages.
template <class T, class Mask, class Score>
void call_attention(
    Gpu& ctx, const ashlar::cuda::AttentionProblem<T, ashlar::cuda::KeyRows<T>, Mask, Score>& p) {
  auto options = p.options;
  options.scale = p.scale;
  if (p.queries.starts == nullptr)
    return ashlar::attention(ctx, p.q, p.kv.k, p.kv.v, p.out, options);
  using ashlar::TensorView, ashlar::VectorView;
  const auto rows = [](const auto& x) {
    using Element = std::remove_pointer_t<decltype(x.data())>;
    return TensorView<Element, 3>(x.data(), {x.extent(1), x.extent(2), x.extent(3)},
                                  {x.stride(1), x.stride(2), 1});
  };
  const ashlar::index_t sequences = p.q.extent(0);
  options.lse = {p.options.lse.data(), {1, p.options.lse.extent(1), p.options.lse.extent(2)}};
  using Starts = VectorView<const std::int32_t>;
  ashlar::cuda::attention_packed(ctx, rows(p.q), rows(p.kv.k), rows(p.kv.v), rows(p.out),
                                 Starts(p.queries.starts, {sequences + 1}),
                                 Starts(p.kv.rows.starts, {sequences + 1}), p.most_queries,
                                 options);
}
template <class T, class Mask, class Score>
void call_attention(
    Gpu& ctx, const ashlar::cuda::AttentionProblem<T, ashlar::cuda::KeyPages<T>, Mask, Score>& p) {
  auto options = p.options;
  options.scale = p.scale;
  ashlar::cuda::attention_paged(ctx, p.q, p.kv, p.out, options);
}
template <class T, class Mask, class Score>
void call_decode(
    Gpu& ctx, const ashlar::cuda::AttentionProblem<T, ashlar::cuda::KeyRows<T>, Mask, Score>& p) {
  auto options = p.options;
  options.scale = p.scale;
  ashlar::attention_decode(ctx, p.q, p.kv.k, p.kv.v, p.out, options);
}
template <class T, class Mask, class Score>
void call_decode(
    Gpu& ctx, const ashlar::cuda::AttentionProblem<T, ashlar::cuda::KeyPages<T>, Mask, Score>& p) {
  auto options = p.options;
  options.scale = p.scale;
  ashlar::cuda::attention_decode_paged(ctx, p.q, p.kv, p.out, options);
}

}  // namespace cuda_test
