// The smallest program that runs a checkpoint: one family on one backend. CI measures its build.
#include <ashlar/models/language_model.hpp>
#include <ashlar/models/presets/llama.hpp>
#include <ashlar/simd.hpp>
#include <cstdio>
#include <vector>

using namespace ashlar;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Checkpoint checkpoint(argv[1]);
  const auto model = load_language_model<backend::SimdCpu, LlamaFamily>(checkpoint, Executor{},
                                                                        [](index_t, index_t) {});
  model->start(1, 8);
  const std::int32_t token = 1;
  std::vector<float> hidden(static_cast<std::size_t>(model->info().d_model));
  std::vector<float> logits(static_cast<std::size_t>(model->info().vocabulary));
  const MatrixView<float> x(hidden.data(), {1, model->info().d_model});
  model->forward(MatrixView<const std::int32_t>(&token, {1, 1}), x);
  model->head(x, MatrixView<float>(logits.data(), {1, model->info().vocabulary}));
  std::printf("%.9g\n", static_cast<double>(logits[0]));
}
