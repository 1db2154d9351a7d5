// Backends and threads by name.
#include "common/open_model.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace ashlar::examples;

std::string error_of(const ModelOptions& options) {
  try {
    open_model(ashlar::Checkpoint(ASHLAR_TEST_DATA "/decoder/gpt2"), options);
  } catch (const ashlar::ValueError& error) {
    return error.what();
  }
  return "no error";
}

TEST(OpenModel, BackendsAndThreads) {
  const ashlar::Checkpoint checkpoint(ASHLAR_TEST_DATA "/decoder/gpt2");
  for (const char* backend : {"scalar", "simd", "eigen"}) {
    const RunningModel model = open_model(checkpoint, {.backend = backend, .threads = 3});
    EXPECT_EQ(model->info().backend, backend);
    EXPECT_EQ(model->info().family, "gpt2");
    EXPECT_EQ(model->context().workers(), 3);
  }
  EXPECT_GE(open_model(checkpoint)->context().workers(), 1);
}

TEST(OpenModel, Refusals) {
  EXPECT_EQ(error_of({.backend = "cuda"}),
            "backend is \"cuda\", but this program was built without CUDA: configure it with "
            "-DASHLAR_BUILD_CUDA=ON, as ./run does for --backend cuda");
  EXPECT_EQ(error_of({.backend = "cuda-f64"}),
            "backend is \"cuda-f64\", expected cuda, cuda-f16 or cuda-bf16");
  EXPECT_EQ(error_of({.backend = ""}), "backend is \"\", expected scalar, simd, eigen or cuda");
  for (const int threads : {-1, 1025})
    EXPECT_EQ(
        error_of({.threads = threads}),
        ashlar::join("threads is ", threads, ", expected 1 to 1024, or 0 for all of the machine"));
}

}  // namespace
