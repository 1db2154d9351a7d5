// Entry header of the backend CudaGpu for nvcc: the kernels, and the functions that ashlar/cuda.hpp
// declares.
#pragma once

#include <ashlar/cuda/attention_launch.cuh>
#include <ashlar/cuda/launch.cuh>
