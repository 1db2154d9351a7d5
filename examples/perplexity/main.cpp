// Perplexity of a text under a model from a GGUF file.
#include <ashlar/weights/mapped_file.hpp>
#include <string>

#include "common/perplexity_run.hpp"
#include "common/program.hpp"
#include "common/progress_line.hpp"

int main(int argc, char** argv) {
  using namespace ashlar;
  using namespace ashlar::examples;
  std::string model_path, text_path;
  PerplexityOptions options;
  ModelOptions running;

  CLI::App app(
      "Perplexity of a text under a model from a GGUF file: exp of the mean of\n"
      "-log p(token | tokens before it). A text longer than the context is cut into\n"
      "windows; each token counts once, the first of the text does not.",
      "perplexity");
  app.add_option("model", model_path, "A .gguf file")->type_name("MODEL.gguf")->required();
  app.add_option("--file", text_path, "The text, in UTF-8")->type_name("TEXT")->required();
  app.add_option("--context", options.context, "Tokens of a window; 0 takes the model's context")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--stride", options.stride,
                 "Tokens from one window to the next; 0: no overlap, and then the\n"
                 "first token of no window counts")
      ->type_name("N")
      ->capture_default_str();
  add_backend_option(app, running);
  add_threads_option(app, running);

  return run_program(app, argc, argv, [&] {
    const Checkpoint checkpoint(model_path);
    const auto tokenizer = open_tokenizer(checkpoint);
    const MappedFile file(text_path);
    const std::string_view text = ashlar::detail::as_text(file.bytes());
    // A text about control tokens holds none.
    auto ids = tokenizer->encode(text, {.parse_special = false});
    if (tokenizer->add_bos() && tokenizer->bos()) ids.insert(ids.begin(), *tokenizer->bos());

    const RunningModel model = open_model(checkpoint, running);
    ProgressLine progress("Reading " + text_path);
    const auto scores = log_probabilities(*model, ids, options, progress);
    std::printf("perplexity: %.6f\ntokens: %zu, of which %zu counted\n", perplexity(scores),
                ids.size(), scores.size());
  });
}
