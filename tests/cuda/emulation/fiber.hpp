// A stack of its own for every thread of an emulated block, and the switch between two of them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#if !defined(__x86_64__)
#  include <ucontext.h>
#endif

namespace emulation {

inline constexpr std::size_t stack_bytes = 256 * 1024;  // mapped as it is touched

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
  ~Stacks() { munmap(base_, bytes_); }
  char* of(std::size_t i) const { return base_ + i * stack_bytes; }

 private:
  std::size_t bytes_;
  char* base_;
};

#if defined(__x86_64__)
/// Keeps the callee's registers on its own stack: a fiber is one pointer.
struct Fiber {
  void* stack_pointer = nullptr;

  void start(char* stack, void (*entry)()) {
    auto** top = reinterpret_cast<void**>(stack + stack_bytes);
    *--top = nullptr;  // entry never returns; also aligns the stack as a call does
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    stack_pointer = top;
  }
};
[[gnu::naked, gnu::noinline]] inline void switch_stacks(void** /*from*/, void* /*to*/) {
  asm volatile(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret");
}
inline void switch_fiber(Fiber& from, Fiber& to) {
  switch_stacks(&from.stack_pointer, to.stack_pointer);
}
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
#endif

}  // namespace emulation
