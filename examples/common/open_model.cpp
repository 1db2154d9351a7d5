#include "open_model.hpp"

#include <ashlar/backend/scalar.hpp>
#include <ashlar/eigen.hpp>
#include <ashlar/models/presets/gpt2.hpp>
#include <ashlar/models/presets/llama.hpp>
#include <ashlar/simd.hpp>
#include <thread>

#include "progress_line.hpp"

namespace ashlar::examples {
namespace {

template <Backend B>
std::unique_ptr<LanguageModel> load(const Checkpoint& checkpoint, Executor executor,
                                    ProgressLine& progress) {
  return load_language_model<B, LlamaFamily, Gpt2Family>(checkpoint, executor, progress);
}

int thread_count(int wanted) {
  if (wanted < 0 || wanted > 1024)
    fail<ValueError>("threads is ", wanted, ", expected 1 to 1024, or 0 for all of the machine");
  if (wanted > 0) return wanted;
  const unsigned all = std::thread::hardware_concurrency();
  return all == 0 ? 1 : static_cast<int>(all);
}

}  // namespace

RunningModel open_model(const Checkpoint& checkpoint, const ModelOptions& options) {
  using Load = std::unique_ptr<LanguageModel> (*)(const Checkpoint&, Executor, ProgressLine&);
  const std::string& name = options.backend;
  const Load on_backend = name == backend::ScalarCpu::name  ? &load<backend::ScalarCpu>
                          : name == backend::SimdCpu::name  ? &load<backend::SimdCpu>
                          : name == backend::EigenCpu::name ? &load<backend::EigenCpu>
                                                            : nullptr;
  if (!on_backend) fail<ValueError>("backend is \"", name, "\", expected scalar, simd or eigen");
  RunningModel running;
  running.pool = std::make_unique<ThreadPool>(thread_count(options.threads));
  ProgressLine progress("Loading " + checkpoint.path(), options.quiet);
  running.model = on_backend(checkpoint, running.pool->executor(), progress);
  return running;
}

}  // namespace ashlar::examples
