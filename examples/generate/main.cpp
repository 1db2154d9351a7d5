// Continues a text, or answers a message, with a model from a GGUF file.
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "common/chat.hpp"
#include "common/program.hpp"
#include "common/sampler.hpp"
#include "common/sequence.hpp"
#include "common/utf8_stream.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

struct Options {
  std::string model, prompt;
  index_t tokens = 256;
  bool chat = false;
  SamplerOptions sampler;
  ModelOptions running;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const Options& options) {
  std::vector<std::int32_t> ids;
  if (tokenizer.add_bos() && tokenizer.bos()) ids.push_back(*tokenizer.bos());
  if (options.chat) {
    const ChatMessage message{"user", options.prompt};
    const auto chat = chatml_tokens(tokenizer, {&message, 1});
    ids.insert(ids.end(), chat.begin(), chat.end());
  } else {
    const auto text = tokenizer.encode(options.prompt);
    ids.insert(ids.end(), text.begin(), text.end());
  }
  if (ids.empty())
    fail<ValueError>(
        "the prompt has no tokens, expected at least 1 (this model puts none in front)");
  return ids;
}

/// The ids that end a text: what the file says, and the end marks that the vocabulary knows.
std::set<std::int32_t> end_tokens(const Tokenizer& tokenizer) {
  std::set<std::int32_t> ends;
  if (tokenizer.eos()) ends.insert(*tokenizer.eos());
  for (const char* mark : {"<|im_end|>", "<|endoftext|>", "<end_of_turn>"})
    if (const auto ids = tokenizer.encode(mark); ids.size() == 1) ends.insert(ids[0]);
  return ends;
}

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void generate(const Options& options) {
  Sampler sampler(options.sampler);
  const Checkpoint checkpoint(options.model);
  const auto tokenizer = open_tokenizer(checkpoint);
  const std::vector<std::int32_t> prompt = prompt_tokens(*tokenizer, options);
  const std::set<std::int32_t> ends = end_tokens(*tokenizer);

  const RunningModel model = open_model(checkpoint, options.running);
  const index_t length = static_cast<index_t>(prompt.size());
  index_t capacity = length + min_index(options.tokens, index_t{1} << 40);
  if (const index_t context = model->info().context_length; context > 0) {
    if (length > context)
      fail<ValueError>("the prompt has ", length, " tokens, expected at most ", context,
                       ", the model's context");
    capacity = (std::min)(capacity, context);
  }
  Sequence sequence(*model, capacity);

  const auto start = Clock::now();
  std::span<const float> logits = sequence.push(prompt);
  const double prompt_seconds = seconds_since(start);
  const SamplerOptions& o = options.sampler;
  const auto drawer = model->drawer({o.temperature, o.top_p, o.min_p, o.top_k, o.seed});

  Utf8Stream stream;
  const auto decode_start = Clock::now();
  index_t made = 0, runs = 0;
  const char* reason = "";
  while (made < options.tokens) {
    const std::int32_t token = drawer ? drawer->next() : sampler(logits);
    if (ends.count(token) != 0) break;
    write(stream.push(tokenizer->piece(token)));
    if (++made == options.tokens) break;
    if (sequence.length() == capacity) {
      reason = ", the model's context is full";
      break;
    }
    if (!drawer) logits = sequence.push(token);
    ++runs;
  }
  const double decode_seconds = seconds_since(decode_start);
  write(stream.finish() + "\n");

  std::fprintf(stderr, "\nprompt: %lld tokens, %.1f tokens/s", static_cast<long long>(length),
               static_cast<double>(length) / prompt_seconds);
  if (runs > 0)
    std::fprintf(stderr, "; generated: %lld tokens, %.1f tokens/s", static_cast<long long>(made),
                 static_cast<double>(runs) / decode_seconds);
  std::fprintf(stderr, " (%s, %d threads%s)\n", options.running.backend.c_str(),
               model->context().workers(), reason);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Continues a text, or answers a message, with a model from a GGUF file.\n"
      "The text goes to stdout as it is made, everything else to stderr.",
      "generate");
  app.add_option("model", options.model, "A .gguf file")->type_name("MODEL.gguf")->required();
  app.add_option("-p,--prompt", options.prompt, "What to continue or, with --chat, to answer")
      ->type_name("TEXT")
      ->required();
  app.add_option("-n,--tokens", options.tokens, "Tokens to make at most")
      ->type_name("N")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_flag("--chat", options.chat, "Take the prompt as a message to a chat model (ChatML)");
  const std::string sampling = "Sampling";
  app.add_option("--temp", options.sampler.temperature, "Temperature; 0 takes the best token")
      ->type_name("X")
      ->capture_default_str()
      ->group(sampling);
  app.add_option("--top-k", options.sampler.top_k, "Among the K best tokens; 0 for all")
      ->type_name("K")
      ->capture_default_str()
      ->group(sampling);
  app.add_option("--top-p", options.sampler.top_p, "Among the best that reach probability P")
      ->type_name("P")
      ->capture_default_str()
      ->group(sampling);
  app.add_option("--min-p", options.sampler.min_p, "At least P times as probable as the best")
      ->type_name("P")
      ->capture_default_str()
      ->group(sampling);
  app.add_option("--seed", options.sampler.seed, "Equal seeds make equal texts")
      ->type_name("N")
      ->capture_default_str()
      ->group(sampling);
  add_backend_option(app, options.running);
  add_threads_option(app, options.running);
  return run_program(app, argc, argv, [&] { generate(options); });
}
