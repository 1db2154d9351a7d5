// The table of kernels in docs/cuda.md is what the code says.
#include <gtest/gtest.h>

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/cuda/attention_arguments.hpp>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace ashlar;

template <class T>
using Problem = cuda::AttentionProblem<T, cuda::KeyRows<T>, CausalMask, NoScore>;
using Q8Problem = cuda::AttentionProblem<half, cuda::KeyRows<Q8_0>, CausalMask, NoScore>;

std::string cell(const std::string& text) { return " " + text + " |"; }
std::string kib(std::uint32_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }
std::string architecture(int needed) {
  return needed ? "sm_" + std::to_string(needed) + " and newer" : "any";
}
std::string times(int a, int b) { return std::to_string(a) + " x " + std::to_string(b); }

template <class Decode>
std::string decode_row(const std::string& name, const std::string& heads) {
  return "|" + cell(name) + cell("bf16, f16") + cell(heads) +
         cell(times(Decode::rows, Decode::keys * Decode::warps)) +
         cell(std::to_string(Decode::warps)) + cell(kib(Decode::shared_size)) +
         cell(architecture(Decode::needs_architecture)) + "\n";
}
template <int Dk, int Dv>
std::string tensor_core_rows() {
  using Forward = cuda::AttentionForward<Problem<half>, Dk, Dv>;
  using Sm90 = cuda::AttentionForwardSm90<Problem<half>, Dk, Dv>;
  using Decode = cuda::AttentionDecode<Problem<half>, Dk, Dv>;
  const std::string heads = std::to_string(Dk) + ", " + std::to_string(Dv);
  return "|" + cell("forward") + cell("bf16, f16") + cell(heads) +
         cell(times(Forward::queries, Forward::keys)) + cell(std::to_string(Forward::warps)) +
         cell(kib(Forward::shared_size)) + cell(architecture(Forward::needs_architecture)) + "\n" +
         "|" + cell("forward, TMA and wgmma") + cell("bf16, f16") + cell(heads) +
         cell(times(Sm90::queries, Sm90::keys)) + cell(std::to_string(Sm90::warps)) +
         cell(kib(Sm90::shared_size)) +
         cell("sm_" + std::to_string(Sm90::needs_architecture) + " by sm_90a") + "\n" +
         decode_row<Decode>("decode", heads) +
         decode_row<cuda::AttentionDecode<Q8Problem, Dk, Dv>>("decode, cache of Q8_0", heads);
}

template <int Dk, int Dv>
std::string tf32_row() {
  using Kernel = cuda::AttentionTf32<Problem<float>, Dk, Dv>;
  return "|" + cell("forward, tf32 on request") + cell("f32") +
         cell(std::to_string(Dk) + ", " + std::to_string(Dv)) +
         cell(times(Kernel::queries, Kernel::keys)) + cell(std::to_string(Kernel::warps)) +
         cell(kib(Kernel::shared_size)) + cell(architecture(Kernel::needs_architecture)) + "\n";
}

std::string table() {
  using Fallback = cuda::AttentionFallback<Problem<float>>;
  std::string text =
      "| kernel | elements | heads of q and k, of v up to | queries x keys of a block's step | "
      "warps "
      "| shared memory | device |\n|---|---|---|---|---|---|---|\n";
  for (const int H : {64, 128, 192, 256})
    for (const int Hv : {64, 128, 192, 256})
      cuda::with_padded_widths(H, Hv, [&]<int Dk, int Dv>() {
        if (Dk == H && Dv == Hv) text += tensor_core_rows<Dk, Dv>();
      });
  text += tf32_row<64, 64>() + tf32_row<128, 128>();
  const std::string widest = std::to_string(cuda::widest_fallback_head);
  return text + "|" + cell("fallback") + cell("f32, bf16, f16") + cell(widest + ", " + widest) +
         cell(times(Fallback::queries, Fallback::keys)) + cell(std::to_string(Fallback::warps)) +
         cell("by width") + cell(architecture(Fallback::needs_architecture)) + "\n";
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}
const std::string documentation = ASHLAR_TEST_DATA "/../../docs/cuda.md";

TEST(SupportTable, OfTheDocumentationIsThatOfTheCode) {
  const std::string text = file_text(documentation);
  const std::string begin = "<!-- kernels -->\n", end = "<!-- end of kernels -->";
  const auto from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << "docs/cuda.md has no table";
  EXPECT_EQ(text.substr(from + begin.size(), to - from - begin.size()), table());
}

TEST(Documentation, ShowsWhatTheTestsCompile) {
  for (const std::string name : {"own_mask", "q8_cache", "decoder"}) {
    const std::string program = file_text(ASHLAR_TEST_DATA "/../cuda/compile/" + name + ".cu");
    const std::string shown = program.substr(program.find('\n') + 1);  // without the file's purpose
    EXPECT_NE(file_text(documentation).find("```cuda\n" + shown + "```"), std::string::npos)
        << name;
  }
}

TEST(SupportTable, EveryTensorCoreKernelFitsTheSmallestSharedMemory) {
  const auto fits = []<int Dk, int Dv>() {
    // 99 KiB: sm_86, sm_89, sm_120.
    EXPECT_LE((cuda::AttentionForward<Problem<half>, Dk, Dv>::shared_size), 99u * 1024);
    EXPECT_LE((cuda::AttentionDecode<Problem<half>, Dk, Dv>::shared_size), 99u * 1024);
    EXPECT_LE((cuda::AttentionDecode<Q8Problem, Dk, Dv>::shared_size), 99u * 1024);
  };
  for (const index_t H : {64, 128, 192, 256})
    for (const index_t Hv : {64, 128, 192, 256}) cuda::with_padded_widths(H, Hv, fits);
}

}  // namespace
