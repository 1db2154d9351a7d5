// A stack of its own for every thread of an emulated block, and the switch between two of them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#if !defined(__x86_64__)
#  include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif

namespace emulation {

inline constexpr std::size_t stack_bytes = 256 * 1024;  // mapped as it is touched

/// Removes the address sanitizer's marks of calls that never returned.
inline void forget_marks([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

/// Stacks of `count` fibers.
class Stacks {
 public:
  explicit Stacks(std::size_t count) : bytes_(count * stack_bytes) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(p);
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
    forget_marks(base_, bytes_);
    munmap(base_, bytes_);
  }
  char* of(std::size_t i) const { return base_ + i * stack_bytes; }

 private:
  std::size_t bytes_;
  char* base_;
};

#if defined(__x86_64__)
/// Keeps the callee's registers on its own stack: a fiber is one pointer.
struct Fiber {
  void* stack_pointer = nullptr;
  const void* bottom = nullptr;  // of its stack, for the address sanitizer
  std::size_t size = 0;

  void start(char* stack, void (*entry)()) {
    forget_marks(stack, stack_bytes);
    auto** top = reinterpret_cast<void**>(stack + stack_bytes);
    *--top = nullptr;  // entry never returns; also aligns the stack as a call does
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    stack_pointer = top;
    bottom = stack;
    size = stack_bytes;
  }
};
[[gnu::naked, gnu::noinline]] inline void switch_stacks(void** /*from*/, void* /*to*/) {
  asm volatile(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret");
}
#  if defined(__SANITIZE_ADDRESS__)
inline void switch_fiber(Fiber& from, Fiber& to) {
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, to.bottom, to.size);
  switch_stacks(&from.stack_pointer, to.stack_pointer);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
}
/// The first thing that a fiber does, begun by `host`.
inline void fiber_begins(Fiber& host) {
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (!host.bottom) {
    host.bottom = bottom;
    host.size = size;
  }
}
#  else
inline void switch_fiber(Fiber& from, Fiber& to) {
  switch_stacks(&from.stack_pointer, to.stack_pointer);
}
inline void fiber_begins(Fiber& /*host*/) {}
#  endif
#else
struct Fiber {
  ucontext_t context{};

  void start(char* stack, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
};
inline void switch_fiber(Fiber& from, Fiber& to) { swapcontext(&from.context, &to.context); }
inline void fiber_begins(Fiber& /*host*/) {}
#endif

}  // namespace emulation
