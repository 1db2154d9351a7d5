// Writes a checkpoint's logits for given tokens to a safetensors file.
#include <cinttypes>
#include <string>

#include "common/logits_run.hpp"
#include "common/program.hpp"
#include "common/text_encoders.hpp"

int main(int argc, char** argv) {
  using namespace ashlar;
  using namespace ashlar::examples;
  std::string checkpoint_path, tokens_text, out;
  LogitsOptions options;
  ModelOptions running;

  CLI::App app(
      "Writes a checkpoint's logits for given tokens to a safetensors file, as\n"
      "  logits         F32 [B, T, V]         of BERT and its kin: the masked-LM head's\n"
      "  hidden_states  F32 [L + 1, B, T, D]  with --hidden: what enters each layer, and\n"
      "                                       what the head takes (after the final norm)\n"
      "  greedy         I64 [B, N]            with --greedy: best tokens, by the cache\n"
      "and prints a hash of the bits of the logits.",
      "logits");
  app.add_option("checkpoint", checkpoint_path,
                 "A .gguf file, or a folder with config.json and *.safetensors")
      ->type_name("CHECKPOINT")
      ->required();
  app.add_option("--tokens", tokens_text, "Token ids; sequences of equal length separated by ;")
      ->type_name("1,2,3[;4,5,6]")
      ->required();
  app.add_option("--out", out, "The file to write")->type_name("F.safetensors")->required();
  app.add_flag("--hidden", options.hidden, "Write hidden_states too");
  app.add_option("--greedy", options.greedy, "Continue each sequence by N tokens")
      ->type_name("N")
      ->check(at_least(0));
  add_backend_option(app, running);
  add_threads_option(app, running);

  return run_program(app, argc, argv, [&] {
    const TokenTable tokens = parse_tokens(tokens_text);
    const Checkpoint checkpoint(checkpoint_path);
    LogitsResult result;
    if (is_text_encoder(checkpoint)) {
      ThreadPool pool(thread_count(running.threads));
      ProgressLine progress("Loading " + checkpoint.path());
      const auto model =
          load_any_text_encoder(checkpoint, running.backend, pool.executor(), progress);
      result = run_logits(*model, tokens, options);
    } else {
      const RunningModel model = open_model(checkpoint, running);
      result = run_logits(*model, tokens, options);
    }
    write_logits(out, result, {{"family", checkpoint.family()}, {"backend", running.backend}});
    std::printf("%s: logits [%lld, %lld, %lld]\nhash: %016" PRIx64 "\n", out.c_str(),
                static_cast<long long>(result.batch), static_cast<long long>(result.length),
                static_cast<long long>(result.vocabulary), hash_bits(result.logits));
  });
}
