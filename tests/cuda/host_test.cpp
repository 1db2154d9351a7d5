// What the host does before a launch: context, checks, the choice of a kernel. No nvcc is needed.
#include <gtest/gtest.h>

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/cuda.hpp>
#include <ashlar/cuda/attention_arguments.hpp>

#include "support/message.hpp"

namespace {

using namespace ashlar;
using support::message_of;
using Gpu = Context<backend::CudaGpu>;

static_assert(Backend<backend::CudaGpu>);
static_assert(backend::CudaGpu::space == MemorySpace::device);

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Architecture, AKernelThatTheDeviceCannotRunIsNamedWithBoth) {
  const int compiled[] = {900, 1000};
  const auto check = [&](int needed, int device) {
    return message_of<ValueError>(
        [&] { cuda::check_architecture("attention", needed, compiled, device); });
  };
  EXPECT_EQ(check(80, 90), "");
  EXPECT_EQ(check(80, 120), "");  // compiled by the driver, if PTX is there
  const std::string older = check(80, 80);
  EXPECT_TRUE(has(older, "compiled for sm_90, sm_100")) << older;
  EXPECT_TRUE(has(older, "the device (sm_80)")) << older;
  EXPECT_TRUE(has(older, "-gencode arch=compute_80,code=sm_80")) << older;
  const std::string ancient = check(80, 75);
  EXPECT_TRUE(has(ancient, "needs sm_80 or newer, the device is sm_75")) << ancient;
  // Code for an architecture that the kernel cannot use does not count.
  const int old_only[] = {750};
  EXPECT_TRUE(has(message_of<ValueError>([&] { cuda::check_architecture("x", 80, old_only, 90); }),
                  "compiled for sm_75, which the device (sm_90) cannot run"));
  EXPECT_TRUE(has(message_of<ValueError>([&] { cuda::check_architecture("x", 0, {}, 90); }),
                  "compiled for no architecture"));
}

TEST(CudaError, CarriesTheTextOfCuda) {
  try {
    cuda::fail_cuda("cudaLaunchKernel", 209, "cudaErrorNoKernelImageForDevice", "no kernel image");
    FAIL();
  } catch (const cuda::CudaError& e) {
    EXPECT_EQ(e.code(), 209);
    EXPECT_STREQ(e.what(),
                 "cudaLaunchKernel: no kernel image (cudaErrorNoKernelImageForDevice, 209)");
  }
}

TEST(CudaContext, TakesPiecesOfTheWorkspaceAndGivesThemBack) {
  alignas(256) static char workspace[1024];
  Gpu ctx({0, 90, 1, 1}, nullptr, workspace, sizeof workspace);
  {
    Scratch::Frame frame(ctx.scratch());
    EXPECT_EQ(frame.get<char>(1), workspace);
    {
      Scratch::Frame inner(ctx.scratch());
      EXPECT_EQ(inner.get<float>(128), static_cast<void*>(workspace + 256));
      const std::string text = message_of<ValueError>([&] { inner.get<char>(257); });
      EXPECT_TRUE(has(text, "at least 1280 bytes is needed, got 1024")) << text;
    }
    EXPECT_EQ(frame.get<char>(768), workspace + 256);
  }
  EXPECT_EQ(ctx.scratch().peak_bytes(), 1024u);
  EXPECT_TRUE(
      has(message_of<ValueError>([&] { Gpu({}, nullptr, workspace + 8, 8); }), "multiple of 256"));
  EXPECT_TRUE(has(message_of<ValueError>([&] { ctx.synchronize(); }), "cuda::device"));
  EXPECT_TRUE(has(message_of<ValueError>([&] { ctx.allocate(1); }), "cuda::device"));
  Gpu none({0, 90, 1, 1}, nullptr);
  Scratch::Frame frame(none.scratch());
  EXPECT_TRUE(has(message_of<ValueError>([&] { frame.get<char>(1); }), "needed, got 0"));
}

TEST(CudaContext, WaitsForItsStream) {
  static CUstream_st* waited = nullptr;
  auto* stream = reinterpret_cast<CUstream_st*>(&waited);
  cuda::Device device{0, 90, 1, 1, [](CUstream_st* s) { waited = s; }};
  device.allocate = [](std::size_t) -> void* { return nullptr; };
  device.deallocate = [](void*) {};
  device.copy = [](void*, const void*, std::size_t, CUstream_st*) {};
  Gpu ctx(device, stream);
  ctx.synchronize();
  EXPECT_EQ(waited, stream);
}

/// Views of memory that nobody touches.
template <class T>
auto problem(index_t H, index_t Hv, index_t stride = 0, std::uintptr_t address = 4096) {
  auto* data = reinterpret_cast<T*>(address);
  const index_t step = stride ? stride : H;
  const TensorView<const T, 4> q(data, {2, 3, 4, H}, {12 * step, 4 * step, step, 1});
  const TensorView<const T, 4> k(data, {2, 5, 2, H}), v(data, {2, 5, 2, Hv});
  return cuda::make_problem("attention", q, cuda::KeyRows<T>{k, v},
                            TensorView<T, 4>(data + 100000, {2, 3, 4, Hv}),
                            AttentionOptions<CausalMask>{});
}

TEST(Route, SaysWhyThereAreNoTensorCores) {
  const auto reason = [](const auto& p, int architecture = 90) {
    return cuda::attention_route(p, architecture).reason;
  };
  EXPECT_TRUE(cuda::attention_route(problem<bfloat16>(64, 64), 80).tensor_cores);
  EXPECT_TRUE(cuda::attention_route(problem<half>(256, 40), 120).tensor_cores);
  EXPECT_EQ(reason(problem<float>(64, 64)), "elements are not of 16 bits");
  EXPECT_EQ(reason(problem<half>(64, 64), 75), "the device is older than sm_80");
  EXPECT_EQ(reason(problem<half>(264, 64)), "a head has more than 256 elements");
  EXPECT_EQ(reason(problem<half>(64, 512)), "a head has more than 256 elements");
  EXPECT_EQ(reason(problem<half>(60, 64)), "a head's elements are no multiple of 8");
  EXPECT_EQ(reason(problem<half>(64, 64, 68)), "rows do not begin at multiples of 16 bytes");
  EXPECT_EQ(reason(problem<half>(64, 64, 0, 4104)), "rows do not begin at multiples of 16 bytes");
}

TEST(Route, PadsToTheNarrowestWidths) {
  for (index_t H = 8; H <= 256; H += 8)
    for (index_t Hv = 8; Hv <= 256; Hv += 8)
      cuda::with_padded_widths(H, Hv, [&]<int Dk, int Dv>() {
        EXPECT_TRUE(Dk >= H && Dv >= Hv);
        const index_t wider = max_index(H, Hv);
        EXPECT_TRUE(Dk - 64 < wider || Dv - 64 < wider) << H << " " << Hv;
      });
}

TEST(Arguments, AreChecked) {
  bfloat16* data = nullptr;
  const auto call = [&](index_t heads, index_t key_heads, index_t H, const auto& options) {
    return message_of<Error>([&] {
      const TensorView<const bfloat16, 4> q(data, {2, 3, heads, H}), k(data, {2, 5, key_heads, H});
      cuda::make_problem("attention", q, cuda::KeyRows<bfloat16>{k, k},
                         TensorView<bfloat16, 4>(data, {2, 3, heads, H}), options);
    });
  };
  AttentionOptions<CausalMask> o;
  EXPECT_EQ(call(4, 2, 64, o), "");
  EXPECT_TRUE(has(call(4, 3, 64, o), "4 query heads and 3 key heads"));
  EXPECT_TRUE(has(call(4, 2, 1032, o), "1032 and 1032 elements, expected at most 1024"));
  const index_t lengths[3] = {};  // on a device these may not be read
  o.kv_lengths = VectorView<const index_t>(lengths, {3});
  EXPECT_TRUE(has(call(4, 2, 64, o), "kv_lengths has 3 entries, expected 2"));
  o.kv_lengths = VectorView<const index_t>(reinterpret_cast<const index_t*>(8), {2});
  EXPECT_EQ(call(4, 2, 64, o), "");
  o.kv_lengths = index_t{6};
  EXPECT_TRUE(has(call(4, 2, 64, o), "kv_lengths[0] is 6, expected 0 to 5"));
  o.kv_lengths = {};
  o.scale = HUGE_VALF;
  EXPECT_TRUE(has(call(4, 2, 64, o), "scale is inf"));
}

TEST(Arguments, OfPagesAndPackedRows) {
  auto* data = reinterpret_cast<half*>(4096);
  const TensorView<const half, 4> q(data, {2, 1, 4, 64}), pool(data, {9, 16, 2, 64});
  cuda::KeyPages<half> pages{pool, pool, {nullptr, {2, 3}}, nullptr, 4};
  const TensorView<half, 4> out(data + 100000, {2, 1, 4, 64});
  const auto p = cuda::make_problem("attention_paged", q, pages, out, AttentionOptions<>{});
  EXPECT_EQ(p.kv.max_length(), 48);
  EXPECT_EQ(cuda::decode_workspace_bytes(p), 2u * 4 * (64 * 4 + 8) + 512);
  pages.table = {nullptr, {3, 3}};
  EXPECT_TRUE(has(message_of<ShapeError>([&] {
                    cuda::make_problem("attention_paged", q, pages, out, AttentionOptions<>{});
                  }),
                  "q has 2 sequences and k has 3"));

  const TensorView<const half, 3> rows(data, {10, 4, 64}), key_rows(data, {30, 2, 64});
  const TensorView<half, 3> row_out(data + 100000, {10, 4, 64});
  const auto packed = [&](index_t entries, index_t most) {
    return message_of<Error>([&] {
      cuda::make_packed_problem(
          "packed", rows, key_rows, key_rows, row_out, VectorView<const std::int32_t>(nullptr, {3}),
          VectorView<const std::int32_t>(nullptr, {entries}), most, AttentionOptions<>{});
    });
  };
  EXPECT_EQ(packed(3, 7), "");
  EXPECT_TRUE(has(packed(4, 7), "q_starts has 3 entries and k_starts 4"));
  EXPECT_TRUE(has(packed(3, 11), "most_queries is 11, expected 0 to 10"));
}

}  // namespace
