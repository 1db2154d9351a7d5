// The primitives of the kernels in PTX. Kernels are templates over this type; tests give them an
// emulated device with the same members instead (tests/cuda/emulation/device.hpp).
#pragma once

#include <ashlar/cuda/words.hpp>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// What the hardware of sm_80 and newer does for a kernel. On older architectures the asynchronous
/// copies and matrix products are traps; launches refuse them before (cuda/architecture.hpp).
struct Ptx {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  static constexpr bool has_tensor_cores = true;
#else
  static constexpr bool has_tensor_cores = false;
#endif

  // --- where a thread is ----------------------------------------------------------------------
  static ASHLAR_DEVICE int thread() { return static_cast<int>(threadIdx.x); }
  static ASHLAR_DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
  static ASHLAR_DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
  static ASHLAR_DEVICE int block_z() { return static_cast<int>(blockIdx.z); }

  // --- shared memory, by 32-bit address --------------------------------------------------------
  static ASHLAR_DEVICE std::uint32_t shared_base() {
    extern __shared__ __align__(1024) unsigned char ashlar_shared_memory[];
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(ashlar_shared_memory));
  }
  template <class V>
  static ASHLAR_DEVICE V load_shared(std::uint32_t address) {
    return *static_cast<const V*>(__cvta_shared_to_generic(address));
  }
  template <class V>
  static ASHLAR_DEVICE void store_shared(std::uint32_t address, V value) {
    *static_cast<V*>(__cvta_shared_to_generic(address)) = value;
  }

  // --- global memory -------------------------------------------------------------------------
  /// A value at an address that is a multiple of its alignment.
  template <class V>
  static ASHLAR_DEVICE V load(const void* from) {
    return *static_cast<const V*>(from);
  }
  template <class V>
  static ASHLAR_DEVICE void store(void* to, V value) {
    *static_cast<V*>(to) = value;
  }
  /// Of memory that no kernel is writing, and that is read once: it takes no place of others in L1.
  static ASHLAR_DEVICE Words<4> load_once(const void* from) {
    Words<4> x;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.word[0]), "=r"(x.word[1]), "=r"(x.word[2]), "=r"(x.word[3])
                 : "l"(from));
    return x;
  }

  // --- order -----------------------------------------------------------------------------------
  static ASHLAR_DEVICE void sync_warp() { __syncwarp(); }
  static ASHLAR_DEVICE void sync_block() { __syncthreads(); }

  // --- between the lanes of a warp -------------------------------------------------------------
  static ASHLAR_DEVICE float shuffle_xor(float value, int mask) {
    return __shfl_xor_sync(~0u, value, mask);
  }
  static ASHLAR_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int mask) {
    return __shfl_xor_sync(~0u, value, mask);
  }
  static ASHLAR_DEVICE float shuffle(float value, int lane) {
    return __shfl_sync(~0u, value, lane);
  }
  static ASHLAR_DEVICE std::uint32_t ballot(bool vote) { return __ballot_sync(~0u, vote); }

  // --- arithmetic ------------------------------------------------------------------------------
  /// 2^x; denormal results are 0.
  static ASHLAR_DEVICE float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  static ASHLAR_DEVICE float log2(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  static ASHLAR_DEVICE float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  /// The larger one; of a NaN and a number the number.
  static ASHLAR_DEVICE float maximum(float a, float b) { return fmaxf(a, b); }
  /// Two floats rounded to T, `low` in the lower half.
  template <class T>
  static ASHLAR_DEVICE std::uint32_t pack(float low, float high) {
    std::uint32_t pair;
    if constexpr (std::is_same_v<T, bfloat16>)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    else
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }

  /// The two elements of a pair as floats.
  template <class T>
  static ASHLAR_DEVICE void unpack(std::uint32_t pair, float& low, float& high) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      low = __uint_as_float(pair << 16);
      high = __uint_as_float(pair & 0xffff0000u);
    } else {
      asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
          : "=f"(low), "=f"(high)
          : "r"(pair));
    }
  }

  /// A packed pair to two neighbouring elements in global memory, the first one 4-byte aligned.
  template <class T>
  static ASHLAR_DEVICE void store_pair(T* to, std::uint32_t pair) {
    *reinterpret_cast<std::uint32_t*>(to) = pair;
  }

  // --- asynchronous copies ---------------------------------------------------------------------
  /// 16 or 4 bytes from global to shared memory; zeros, without a read, unless `inside`.
  template <int Bytes = 16>
  static ASHLAR_DEVICE void copy_async(std::uint32_t to, const void* from, bool inside) {
    static_assert(Bytes == 16 || Bytes == 4);
    if constexpr (!has_tensor_cores)
      __trap();
    else if constexpr (Bytes == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                   "r"(inside ? 16 : 0)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
                   "r"(inside ? 4 : 0)
                   : "memory");
  }
  /// Closes the group of this thread's copies since the last call.
  static ASHLAR_DEVICE void commit_copies() {
    if constexpr (has_tensor_cores) asm volatile("cp.async.commit_group;" ::: "memory");
  }
  /// Waits until at most `Pending` of this thread's newest groups are under way.
  template <int Pending>
  static ASHLAR_DEVICE void wait_copies() {
    if constexpr (has_tensor_cores)
      asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
  }

  // --- matrix fragments ------------------------------------------------------------------------
  /// Four matrices of 8 x 8; lane i gives the address of row i % 8 of matrix i / 8.
  static ASHLAR_DEVICE void load_matrix(std::uint32_t (&r)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  }
  static ASHLAR_DEVICE void load_matrix_transposed(std::uint32_t (&r)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  }
  /// d += a b for a of 16 x 16 and b of 16 x 8 elements of type T, sums in f32.
  template <class T>
  static ASHLAR_DEVICE void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
    if constexpr (!has_tensor_cores)
      __trap();
    else if constexpr (std::is_same_v<T, bfloat16>)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
          "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  /// d += a b for a of 16 x 8 and b of 8 x 8 tf32 numbers.
  static ASHLAR_DEVICE void multiply_add_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                              std::uint32_t b0, std::uint32_t b1) {
    if constexpr (!has_tensor_cores)
      __trap();
    else
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
          "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  /// x to 11 significant bits, halves away from 0: a factor of multiply_add_tf32.
  static ASHLAR_DEVICE std::uint32_t round_tf32(float x) {
    std::uint32_t y = 0;
    if constexpr (has_tensor_cores) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI::cuda
