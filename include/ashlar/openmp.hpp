// Entry header of the component `openmp`: an executor that runs on OpenMP's threads.
#pragma once

#include <ashlar/backend/parallel.hpp>

#if !defined(_OPENMP)
#  error "ashlar/openmp.hpp needs -fopenmp: link ashlar::openmp"
#endif
#include <omp.h>

namespace ashlar::inline ASHLAR_ABI {

/// Workers on OpenMP's threads; 0 takes as many as OpenMP would. Called from inside a parallel
/// region the workers run one after the other: threads are not multiplied.
inline Executor openmp_executor(int workers = 0) {
  return {[](void*, int count, Executor::Task task, void* argument) {
#pragma omp parallel for num_threads(count) schedule(static, 1)
            for (int w = 0; w < count; ++w) task(argument, w);
          },
          nullptr, workers > 0 ? workers : omp_get_max_threads()};
}

}  // namespace ashlar::inline ASHLAR_ABI
