// Entry header of the backend CudaGpu for nvcc: the kernels, the functions that ashlar/cuda.hpp
// declares, and the ops of a decoder. Products of more than 8 rows need ashlar/cuda/product.cuh
// too.
#pragma once

#include <ashlar/cuda/attention_launch.cuh>
#include <ashlar/cuda/attention_q8_launch.cuh>
#include <ashlar/cuda/elementwise_launch.hpp>
#include <ashlar/cuda/embedding_launch.hpp>
#include <ashlar/cuda/launch.cuh>
#include <ashlar/cuda/linear_launch.hpp>
#include <ashlar/cuda/norm_launch.hpp>
#include <ashlar/cuda/rope_launch.hpp>
#include <ashlar/cuda/sample_launch.hpp>
