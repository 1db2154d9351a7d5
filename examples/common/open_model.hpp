// Opens a model on a backend that is named at run time.
#pragma once

#include <ashlar/backend/thread_pool.hpp>
#include <ashlar/models/language_model.hpp>
#include <memory>
#include <string>

namespace ashlar::examples {

struct ModelOptions {
  std::string backend = "simd";  ///< "scalar", "simd", "eigen", or "cuda", "cuda-f16", "cuda-bf16"
  int threads = 0;               ///< 0: as many as the machine has
  bool quiet = false;            ///< no progress, not even on a terminal
};

/// 0 means all of the machine. Throws: ValueError for a number below 0 or above 1024.
int thread_count(int wanted);

/// A model and the threads that it runs on.
struct RunningModel {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<LanguageModel> model;  // after the pool: it goes first

  LanguageModel& operator*() const { return *model; }
  LanguageModel* operator->() const { return model.get(); }
};

/// Loads the weights; shows how far it is in one line on stderr if that is a terminal. The
/// checkpoint is not needed afterwards. Compiled once for all programs: it holds every family on
/// every backend.
/// Throws: ValueError for an unknown backend, family or setting and for too many threads; FileError
/// for tensors that do not fit.
RunningModel open_model(const Checkpoint& checkpoint, const ModelOptions& options = {});

}  // namespace ashlar::examples
