// Entry header of the backend CudaGpu for host code: needs neither nvcc nor a header of CUDA.
//
// What it declares is defined in ashlar/cuda.cuh. A .cu file that includes that one instantiates
// the functions that a program calls, by calling them or with `template void
// ashlar::attention(..);`.
#pragma once

#include <ashlar/cuda/attention.hpp>
#include <ashlar/cuda/attention_arguments.hpp>
#include <ashlar/cuda/attention_q8.hpp>
#include <ashlar/cuda/context.hpp>
