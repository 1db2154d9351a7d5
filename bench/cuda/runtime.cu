// Memory, streams, events and graphs, for a script that may have no other library of CUDA.
#include "library.cuh"

using ashlar::cuda::check;
using bench::guarded;

namespace {
/// Numbers between -2 and 2 with two peaks of the same size, from a hash of their index.
__global__ void fill(ashlar::bfloat16* x, std::size_t count, unsigned seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint64_t h = (i + 1) * 0x9E3779B97F4A7C15u + seed;
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
    h = (h ^ h >> 27) * 0x94D049BB133111EBu;
    const auto part = [h](int shift) { return static_cast<float>(h >> shift & 0xffffu) / 65536.f; };
    x[i] = ashlar::bfloat16(part(0) + part(16) + part(32) + part(48) - 2.f);
  }
}
}  // namespace

extern "C" {

/// Name, 10 x architecture, bytes free.
const char* bench_device(char* name, int room, int* architecture, std::size_t* bytes_free) {
  return guarded([&] {
    cudaDeviceProp properties;
    check("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, 0));
    std::snprintf(name, static_cast<std::size_t>(room), "%s", properties.name);
    *architecture = bench::device().architecture;
    std::size_t total = 0;
    check("cudaMemGetInfo", cudaMemGetInfo(bytes_free, &total));
  });
}
const char* bench_allocate(void** p, std::size_t bytes) {
  return guarded([&] { check("cudaMalloc", cudaMalloc(p, bytes)); });
}
const char* bench_free(void* p) {
  return guarded([&] { check("cudaFree", cudaFree(p)); });
}
const char* bench_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  return guarded([&] {
    check("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  });
}
const char* bench_fill(ashlar::bfloat16* x, std::size_t count, unsigned seed) {
  return guarded([&] {
    fill<<<1024, 256>>>(x, count, seed);
    check("fill", cudaGetLastError());
    check("cudaDeviceSynchronize", cudaDeviceSynchronize());
  });
}
const char* bench_synchronize() {
  return guarded([&] { check("cudaDeviceSynchronize", cudaDeviceSynchronize()); });
}

const char* bench_stream(cudaStream_t* stream) {
  return guarded([&] { check("cudaStreamCreate", cudaStreamCreate(stream)); });
}
const char* bench_event(cudaEvent_t* event) {
  return guarded([&] { check("cudaEventCreate", cudaEventCreate(event)); });
}
const char* bench_record(cudaEvent_t event, cudaStream_t stream) {
  return guarded([&] { check("cudaEventRecord", cudaEventRecord(event, stream)); });
}
/// Waits for the second one.
const char* bench_elapsed(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return guarded([&] {
    check("cudaEventSynchronize", cudaEventSynchronize(end));
    check("cudaEventElapsedTime", cudaEventElapsedTime(milliseconds, begin, end));
  });
}

const char* bench_capture(cudaStream_t stream) {
  return guarded([&] {
    check("cudaStreamBeginCapture",
          cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  });
}
const char* bench_captured(cudaGraphExec_t* ready, cudaStream_t stream) {
  return guarded([&] {
    cudaGraph_t graph;
    check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
    check("cudaGraphInstantiate", cudaGraphInstantiate(ready, graph, 0));
    cudaGraphDestroy(graph);
  });
}
const char* bench_replay(cudaGraphExec_t graph, cudaStream_t stream) {
  return guarded([&] { check("cudaGraphLaunch", cudaGraphLaunch(graph, stream)); });
}
const char* bench_free_graph(cudaGraphExec_t graph) {
  return guarded([&] { check("cudaGraphExecDestroy", cudaGraphExecDestroy(graph)); });
}

}  // extern "C"
