// Graph: work of a stream, captured once and enqueued again and again in one call.
#pragma once

#include <ashlar/cuda/launch.cuh>
#include <utility>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Every op of this library can be captured: none allocates or waits.
class Graph {
 public:
  Graph() = default;
  /// Captures what f() enqueues on the context's stream, which is not the default stream; nothing
  /// runs. Throws CudaError, and what f throws; the stream then is as before.
  template <class F>
  Graph(Context<backend::CudaGpu>& ctx, F&& f) {
    check("cudaStreamBeginCapture",
          cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal));
    Capture capture{ctx.stream()};
    f();
    const cudaGraph_t graph = capture.end();
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check("cudaGraphInstantiate", made);
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Graph() {
    if (graph_) cudaGraphExecDestroy(graph_);
  }

  bool empty() const { return graph_ == nullptr; }
  /// Enqueues it. Throws CudaError.
  void launch(Context<backend::CudaGpu>& ctx) const {
    check("cudaGraphLaunch", cudaGraphLaunch(graph_, ctx.stream()));
  }

 private:
  struct Capture {
    CUstream_st* stream;
    bool ended = false;
    cudaGraph_t end() {
      ended = true;
      cudaGraph_t graph = nullptr;
      check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
      return graph;
    }
    ~Capture() {  // f() threw
      cudaGraph_t graph = nullptr;
      if (!ended && cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    }
  };
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
