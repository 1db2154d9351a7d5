#include "open_model.hpp"

#include <thread>

#include "cuda_models.hpp"
#include "families.hpp"

namespace ashlar::examples {

int thread_count(int wanted) {
  if (wanted < 0 || wanted > 1024)
    fail<ValueError>("threads is ", wanted, ", expected 1 to 1024, or 0 for all of the machine");
  if (wanted > 0) return wanted;
  const unsigned all = std::thread::hardware_concurrency();
  return all == 0 ? 1 : static_cast<int>(all);
}

RunningModel open_model(const Checkpoint& checkpoint, const ModelOptions& options) {
  RunningModel running;
  running.pool = std::make_unique<ThreadPool>(thread_count(options.threads));
  ProgressLine progress("Loading " + checkpoint.path(), options.quiet);
  const Executor executor = running.pool->executor();
  running.model = is_cuda(options.backend)
                      ? load_cuda_model(checkpoint, options.backend, executor, progress)
                      : load_any_family(checkpoint, options.backend, executor, progress);
  return running;
}

}  // namespace ashlar::examples
