// HostContext: what every CPU backend's context is made of.
#pragma once

#include <ashlar/backend/backend.hpp>
#include <ashlar/backend/parallel.hpp>
#include <ashlar/backend/scratch.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// How products with quantised weights are formed. Chosen by the caller, never by the shape.
enum class ProductMode {
  exact,  // f32 activations; the bits of the product with the dequantised matrix
  int8    // activations rounded to 8 bits a block of 32: not available in this version
};

/// Scratch memory, threads and options of one chain of calls on the host. Not shared by threads
/// that call ops at the same time: give each its own.
class HostContext {
 public:
  explicit HostContext(Executor executor = {}) : executor_(executor) { check(executor); }

  void* allocate(std::size_t bytes) { return detail::allocate_aligned(bytes); }
  void deallocate(void* p, std::size_t) { detail::deallocate_aligned(p); }
  void synchronize() {}

  Scratch& scratch() { return scratch_; }
  const Executor& executor() const { return executor_; }
  int workers() const { return executor_.workers; }
  void set_executor(Executor executor) {
    check(executor);
    executor_ = executor;
  }

  ProductMode product_mode() const { return product_mode_; }
  void set_product_mode(ProductMode mode) {
    if (mode == ProductMode::int8)
      fail<ValueError>(
          "Context: product mode int8 is not available in this version, expected exact");
    product_mode_ = mode;
  }

 private:
  static void check(const Executor& e) {
    if (e.run == nullptr || e.workers < 1)
      fail<ValueError>("Context: executor has ", e.workers, " workers, expected at least 1");
  }

  Scratch scratch_;
  Executor executor_;
  ProductMode product_mode_ = ProductMode::exact;
};

}  // namespace ashlar::inline ASHLAR_ABI
