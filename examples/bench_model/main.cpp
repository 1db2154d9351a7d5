// Tokens per second of a model from a GGUF file or a folder.
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "common/program.hpp"
#include "common/sequence.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

struct Options {
  std::string model;
  index_t prompt = 512, decode = 128;
  std::vector<index_t> depths = {0};
  std::vector<int> threads;
  int rounds = 3;
  ModelOptions running;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

double megabytes(index_t bytes) { return static_cast<double>(bytes) / 1e6; }

template <class F>
double tokens_per_second(index_t tokens, const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return static_cast<double>(tokens) / time.count();
}

void bench(const Options& options) {
  const Checkpoint checkpoint(options.model);
  const RunningModel model = open_model(checkpoint, options.running);
  const LanguageModelInfo& info = model->info();
  const index_t most = (std::max)(options.prompt, options.decode);
  const index_t deepest = *std::max_element(options.depths.begin(), options.depths.end()) + most;
  if (info.context_length > 0 && deepest > info.context_length)
    fail<ValueError>("depth and tokens come to ", deepest, ", expected at most ",
                     info.context_length, ", the model's context");

  std::vector<std::unique_ptr<ThreadPool>> pools;
  std::vector<int> threads = options.threads;
  if (threads.empty()) threads = {model->context().workers()};
  for (const int count : threads) pools.push_back(std::make_unique<ThreadPool>(count));

  // Any tokens do: the work does not depend on them.
  std::vector<std::int32_t> ids(static_cast<std::size_t>(deepest));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(i * 7919 % static_cast<std::size_t>(info.vocabulary));
  const std::span<const std::int32_t> tokens(ids);

  std::printf("%s: %s, %s, weights %.1f MB; tokens/s, median of %d\n", options.model.c_str(),
              info.family.c_str(), options.running.backend.c_str(), megabytes(info.weight_bytes),
              options.rounds);
  std::printf("%8s %8s %12s %12s %10s\n", "depth", "threads",
              join("prompt ", options.prompt).c_str(), join("decode ", options.decode).c_str(),
              "KV MB");
  for (const index_t depth : options.depths) {
    Sequence sequence(*model, depth + most);
    if (depth > 0) sequence.push(tokens.first(static_cast<std::size_t>(depth)));
    std::vector<std::vector<double>> prompt(threads.size()), decode(threads.size());
    const auto rest = tokens.subspan(static_cast<std::size_t>(depth));
    // Rounds outside, so that a change of the machine's speed meets all thread counts.
    for (int round = 0; round < options.rounds; ++round) {
      for (std::size_t i = 0; i < threads.size(); ++i) {
        model->context().set_executor(pools[i]->executor());
        prompt[i].push_back(tokens_per_second(options.prompt, [&] {
          sequence.push(rest.first(static_cast<std::size_t>(options.prompt)));
        }));
        sequence.truncate(depth);
        decode[i].push_back(tokens_per_second(options.decode, [&] {
          for (index_t n = 0; n < options.decode; ++n)
            sequence.push(rest[static_cast<std::size_t>(n)]);
        }));
        sequence.truncate(depth);
      }
    }
    for (std::size_t i = 0; i < threads.size(); ++i)
      std::printf("%8lld %8d %12.1f %12.1f %10.1f\n", static_cast<long long>(depth), threads[i],
                  median(prompt[i]), median(decode[i]), megabytes(model->state_bytes()));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Tokens per second of a model: of a prompt run in one go, and of decoding one token\n"
      "at a time, after as many tokens as each depth says.",
      "bench_model");
  app.add_option("model", options.model,
                 "A .gguf file, or a folder with config.json and *.safetensors")
      ->type_name("MODEL.gguf")
      ->required();
  app.add_option("-p,--prompt", options.prompt, "Tokens of the prompt")
      ->type_name("N")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("-n,--decode", options.decode, "Tokens to decode")
      ->type_name("N")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("-d,--depth", options.depths, "Tokens already in the cache")
      ->type_name("N[,N...]")
      ->delimiter(',')
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("-t,--threads", options.threads, "Threads; all of the machine if not given")
      ->type_name("N[,N...]")
      ->delimiter(',')
      ->check(at_least(1));
  app.add_option("-r,--rounds", options.rounds, "Rounds, whose median is printed")
      ->type_name("N")
      ->check(at_least(1))
      ->capture_default_str();
  add_backend_option(app, options.running);
  return run_program(app, argc, argv, [&] { bench(options); });
}
