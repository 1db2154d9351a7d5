// How alike sentences are: cosines of their embeddings under a BERT folder, all-MiniLM-L6-v2 say.
#include <ashlar/backend/thread_pool.hpp>
#include <ashlar/eigen.hpp>
#include <ashlar/models/presets/bert.hpp>
#include <ashlar/simd.hpp>
#include <thread>

#include "common/program.hpp"
#include "common/progress_line.hpp"
#include "sentence_encoder.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

std::unique_ptr<TextEncoder> load(const Checkpoint& checkpoint, const std::string& backend,
                                  Executor executor) {
  ProgressLine progress("Loading " + checkpoint.path());
  if (backend == "scalar")
    return load_text_encoder<backend::ScalarCpu, BertFamily>(checkpoint, executor, progress);
  if (backend == "simd")
    return load_text_encoder<backend::SimdCpu, BertFamily>(checkpoint, executor, progress);
  if (backend == "eigen")
    return load_text_encoder<backend::EigenCpu, BertFamily>(checkpoint, executor, progress);
  fail<ValueError>("backend is \"", backend, "\", expected scalar, simd or eigen");
}

void print_cosines(const std::vector<std::string>& texts, const std::vector<float>& vectors) {
  const std::size_t width = vectors.size() / texts.size();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = 0; j < texts.size(); ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < width; ++k)
        sum += double{vectors[i * width + k]} * double{vectors[j * width + k]};
      std::printf("%7.3f", sum);
    }
    std::printf("  %s\n", texts[i].c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder, pooling;
  std::vector<std::string> texts;
  index_t max_tokens = 0;
  ModelOptions running;

  CLI::App app(
      "Prints how alike sentences are: the cosines of their embeddings under a BERT folder\n"
      "(config.json, *.safetensors, tokenizer.json or vocab.txt; modules.json and the pooling's\n"
      "config.json where they are there).",
      "embed");
  app.add_option("folder", folder, "The model's folder, all-MiniLM-L6-v2 say")
      ->type_name("FOLDER")
      ->required();
  app.add_option("texts", texts, "Sentences, two or more")->type_name("TEXT")->required();
  app.add_option("--pooling", pooling,
                 "mean, cls or max of the tokens' states. Default: what the folder says, else mean")
      ->type_name("NAME")
      ->check(CLI::IsMember({"mean", "cls", "max"}));
  app.add_option("--max-tokens", max_tokens, "Cut longer sentences; 0: what the model was made for")
      ->type_name("N")
      ->check(at_least(0))
      ->capture_default_str();
  add_backend_option(app, running);
  add_threads_option(app, running);

  return run_program(app, argc, argv, [&] {
    const Checkpoint checkpoint(folder);
    const int all = static_cast<int>(std::thread::hardware_concurrency());
    ThreadPool pool(running.threads > 0 ? running.threads : std::max(all, 1));
    std::optional<SentencePooling> asked;
    if (!pooling.empty()) asked = sentence_pooling(pooling, "--pooling");
    SentenceEncoder encoder(load(checkpoint, running.backend, pool.executor()), folder, asked,
                            max_tokens);
    print_cosines(texts, encoder.embed(texts));
  });
}
