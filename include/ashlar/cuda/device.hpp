// What launches must know of a device, and whether it can run a kernel as it was compiled.
#pragma once

#include <ashlar/core/error.hpp>
#include <span>

struct CUstream_st;  // what a cudaStream_t points to

namespace ashlar::inline ASHLAR_ABI::cuda {

/// A device, as cuda::device(index) of ashlar/cuda.cuh finds it. Host code passes it on; it needs
/// no header of CUDA for that.
struct Device {
  int index = 0;
  int architecture = 0;          // 10 * major + minor: 90 is sm_90
  std::size_t shared_bytes = 0;  // of a block, at most
  int multiprocessors = 0;
  void (*synchronize)(CUstream_st*) = nullptr;  // waits for a stream
  void* (*allocate)(std::size_t) = nullptr;     // memory of the device
  void (*deallocate)(void*) = nullptr;
  /// Copies between host and device, either way, in the order of a stream: (to, from, bytes).
  void (*copy)(void*, const void*, std::size_t, CUstream_st*) = nullptr;

  /// Itself. Throws ValueError for one that was made by hand without the functions.
  const Device& with_functions() const {
    if (!synchronize || !allocate || !deallocate || !copy)
      fail<ValueError>("Device: it has no functions; take it from cuda::device");
    return *this;
  }
};

/// An error of the CUDA runtime: the call, CUDA's name and text of it, and its number.
class CudaError : public Error {
 public:
  explicit CudaError(const std::string& message, int code = 0) : Error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

[[noreturn]] inline void fail_cuda(std::string_view call, int code, std::string_view name,
                                   std::string_view text) {
  const std::string message = join(call, ": ", text, " (", name, ", ", code, ")");
#if ASHLAR_EXCEPTIONS
  throw CudaError(message, code);
#else
  fail<CudaError>(message);
#endif
}

/// "sm_80, sm_90" of 800, 900: architectures as nvcc's __CUDA_ARCH_LIST__ has them.
inline std::string architecture_names(std::span<const int> compiled) {
  std::string text;
  for (const int a : compiled) text += join(text.empty() ? "sm_" : ", sm_", a / 10);
  return text.empty() ? "no architecture" : text;
}

/// Throws ValueError that names kernel, compiled architectures and device unless the device code
/// can run: it is compiled for an architecture that the kernel needs and the device has, or an
/// older one from which the driver compiles it.
inline void check_architecture(std::string_view kernel, int needed, std::span<const int> compiled,
                               int device) {
  if (device < needed)
    fail<ValueError>(kernel, ": the kernel needs sm_", needed, " or newer, the device is sm_",
                     device, " (compiled for ", architecture_names(compiled), ")");
  for (const int a : compiled)
    if (a / 10 >= needed && a / 10 <= device) return;
  fail<ValueError>(kernel, ": this program was compiled for ", architecture_names(compiled),
                   ", which the device (sm_", device, ") cannot run; the kernel needs sm_", needed,
                   " or newer: compile it with -gencode arch=compute_", device, ",code=sm_",
                   device);
}

/// Throws ValueError that names kernel, compiled architectures and device unless the device is of
/// sm_90 and runs code that is compiled for sm_90a.
inline void check_sm90a(std::string_view kernel, bool has_code, std::span<const int> compiled,
                        int device) {
  if (device != 90)
    fail<ValueError>(kernel, ": the kernel runs on sm_90 only, the device is sm_", device,
                     " (compiled for ", architecture_names(compiled), ")");
  if (!has_code)
    fail<ValueError>(kernel, ": the kernel needs code for sm_90a; what the device (sm_", device,
                     ") runs of this program is not: it was compiled for ",
                     architecture_names(compiled),
                     ". Compile it with -gencode arch=compute_90a,code=sm_90a");
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
