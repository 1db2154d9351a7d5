#include "open_model.hpp"

#include <thread>

#include "load_on.hpp"

namespace ashlar::examples {
namespace {

int thread_count(int wanted) {
  if (wanted < 0 || wanted > 1024)
    fail<ValueError>("threads is ", wanted, ", expected 1 to 1024, or 0 for all of the machine");
  if (wanted > 0) return wanted;
  const unsigned all = std::thread::hardware_concurrency();
  return all == 0 ? 1 : static_cast<int>(all);
}

}  // namespace

RunningModel open_model(const Checkpoint& checkpoint, const ModelOptions& options) {
  const std::string& name = options.backend;
  LoadModel* const on_backend = name == "scalar"  ? &load_on_scalar
                                : name == "simd"  ? &load_on_simd
                                : name == "eigen" ? &load_on_eigen
                                                  : nullptr;
  if (!on_backend) fail<ValueError>("backend is \"", name, "\", expected scalar, simd or eigen");
  RunningModel running;
  running.pool = std::make_unique<ThreadPool>(thread_count(options.threads));
  ProgressLine progress("Loading " + checkpoint.path(), options.quiet);
  running.model = on_backend(checkpoint, running.pool->executor(), progress);
  return running;
}

}  // namespace ashlar::examples
