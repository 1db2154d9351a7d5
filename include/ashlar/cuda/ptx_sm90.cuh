// The primitives of sm_90a beside those of every architecture: barriers in shared memory, copies of
// boxes by TMA, products of a warpgroup. Tests give kernels an emulated device with the same
// members (tests/cuda/emulation/device_sm90.hpp).
#pragma once

#include <ashlar/cuda/ptx.cuh>
#include <ashlar/cuda/tensor_map.hpp>
#include <ashlar/cuda/wgmma_registers.cuh>
#include <ashlar/cuda/wgmma_shared.cuh>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// Exists in code that is compiled for sm_90a only.
struct PtxSm90 : Ptx {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static constexpr bool available = true;
#else
  static constexpr bool available = false;
#endif

  static ASHLAR_DEVICE int blocks() { return static_cast<int>(gridDim.x); }
  /// A value that all lanes of a warp share, for the compiler to know it.
  static ASHLAR_DEVICE int uniform(int value) { return __shfl_sync(~0u, value, 0); }
  /// True in one lane of a warp.
  static ASHLAR_DEVICE bool elect() {
    std::uint32_t chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
                 : "=r"(chosen));
    return chosen != 0;
  }

  // --- barriers of some threads of a block -------------------------------------------------------
  static ASHLAR_DEVICE void sync_threads(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
  }
  /// Counts as an arrival, and does not wait.
  static ASHLAR_DEVICE void arrive_threads(int barrier, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
  }

  // --- barriers in shared memory
  // ------------------------------------------------------------------
  /// 8 bytes, whose phase ends after `arrivals` and when all bytes that were announced are there.
  static ASHLAR_DEVICE void init_barrier(std::uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
  }
  /// Shows barriers that this thread has begun to the copy engine.
  static ASHLAR_DEVICE void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  static ASHLAR_DEVICE void arrive(std::uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
  }
  /// Arrives, and announces bytes that copies bring.
  static ASHLAR_DEVICE void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
  }
  /// Waits for the end of the phase of this parity; phases count from 0.
  static ASHLAR_DEVICE void wait_barrier(std::uint32_t barrier, std::uint32_t parity) {
    asm volatile(
        "{ .reg .pred p;\n"
        "again_%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@!p bra again_%=; }" ::"r"(barrier),
        "r"(parity)
        : "memory");
  }

  // --- copies of boxes
  // -----------------------------------------------------------------------------
  /// The map's box from `column`, `row` of a head and sequence to shared memory, as a panel of a
  /// SharedTile; the barrier counts its bytes.
  static ASHLAR_DEVICE void copy_box(std::uint32_t to, const TensorMap& map, std::uint32_t barrier,
                                     int column, int row, int head, int b) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(head), "r"(b)
        : "memory");
  }
  static ASHLAR_DEVICE void prefetch_map(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
  }
  /// Shows this thread's writes to shared memory to products and the copy engine.
  static ASHLAR_DEVICE void publish_writes() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  // --- registers of a warpgroup
  // ----------------------------------------------------------------------
  template <int Registers>
  static ASHLAR_DEVICE void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
  }
  template <int Registers>
  static ASHLAR_DEVICE void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
  }

  // --- products of a warpgroup, 64 rows
  // ----------------------------------------------------------------
  /// Comes before the first product of a group: what registers hold is what products read.
  static ASHLAR_DEVICE void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }
  static ASHLAR_DEVICE void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  /// Waits until at most `Pending` of the newest groups are under way. What they write may be
  /// touched after hold().
  template <int Pending>
  static ASHLAR_DEVICE void wait_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
  }
  /// No use of these registers moves before this.
  template <int Blocks>
  static ASHLAR_DEVICE void hold(float (&d)[Blocks][4]) {
    ASHLAR_DEVICE_UNROLL
    for (int j = 0; j < Blocks; ++j)
      asm volatile("" : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])::"memory");
  }
  /// d (+)= a b for 64 x 16 and 16 x 8 Blocks elements by descriptor; see multiply_shared().
  template <class T, int Blocks>
  static ASHLAR_DEVICE void multiply_tiles(float (&d)[Blocks][4], std::uint64_t a, std::uint64_t b,
                                           bool add) {
    multiply_shared<T>(d, a, b, add);
  }
  /// d += a b for a in registers; see multiply_registers().
  template <class T, int Blocks>
  static ASHLAR_DEVICE void multiply_fragment(float (&d)[Blocks][4], const std::uint32_t (&a)[4],
                                              std::uint64_t b) {
    multiply_registers<T>(d, a, b);
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
