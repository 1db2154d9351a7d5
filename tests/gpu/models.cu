// Whole models on the device: the logits and tokens of the host, for small checkpoints of the
// golden cases and, where it is given, a real model. Needs nothing but the library.
#include <gtest/gtest.h>

#include <ashlar/models/cuda/language_model.cuh>
#include <ashlar/models/presets/llama.hpp>
#include <ashlar/models/presets/qwen3.hpp>
#include <cstdlib>
#include <string>

namespace {

using namespace ashlar;
std::vector<float> logits_of(LanguageModel& model, const std::vector<std::int32_t>& tokens,
                             index_t begin, index_t end) {
  const auto& info = model.info();
  const index_t count = end - begin;
  std::vector<float> hidden(static_cast<std::size_t>(count * info.d_model)),
      logits(static_cast<std::size_t>(count * info.vocabulary));
  const MatrixView<float> rows(hidden.data(), {count, info.d_model});
  model.forward(MatrixView<const std::int32_t>(tokens.data() + begin, {1, count}), rows);
  model.head(MatrixView<const float>(rows), {logits.data(), {count, info.vocabulary}});
  return logits;
}
std::int32_t best(const std::vector<float>& logits, index_t vocabulary) {
  return static_cast<std::int32_t>(std::max_element(logits.end() - vocabulary, logits.end()) -
                                   (logits.end() - vocabulary));
}
double square_error(const std::vector<float>& got, const std::vector<float>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double g = static_cast<double>(got[i]), e = static_cast<double>(expected[i]);
    difference += (g - e) * (g - e);
    size += e * e;
  }
  return difference / size;
}

/// The prompt in chunks, then tokens that the device draws, beside the host's best ones.
void expect_the_hosts(LanguageModel& host, LanguageModel& device, std::vector<std::int32_t> prompt,
                      index_t more, double most_error, bool same_tokens) {
  const index_t vocabulary = host.info().vocabulary, T = static_cast<index_t>(prompt.size());
  for (LanguageModel* model : {&host, &device}) model->start(1, T + more);
  std::vector<float> last;
  for (const auto& [begin, end] :
       {std::pair<index_t, index_t>{0, T - 4}, {T - 4, T - 1}, {T - 1, T}}) {  // many, few, one
    const auto expected = logits_of(host, prompt, begin, end);
    const double error = square_error(logits_of(device, prompt, begin, end), expected);
    EXPECT_TRUE(error <= most_error)
        << "square error " << error << " of the logits of tokens " << begin << " to " << end - 1;
    last = expected;
  }
  if (!same_tokens) return;
  const auto drawer = device.drawer({.temperature = 0.f});
  for (index_t i = 0; i < more; ++i) {
    const std::int32_t expected = best(last, vocabulary);
    ASSERT_EQ(drawer->next(), expected) << "token " << i;
    last = logits_of(host, {expected}, 0, 1);
  }
}

template <class Family>
std::unique_ptr<LanguageModel> on_host(const Checkpoint& checkpoint) {
  return load_language_model<backend::ScalarCpu, Family>(checkpoint, Executor{}, [](auto...) {});
}
template <class T, class Family>
std::unique_ptr<LanguageModel> on_device(const Checkpoint& checkpoint) {
  return cuda::load_device_model<T, Family>(checkpoint, Executor{}, [](auto...) {});
}

template <class Family>
void expect_golden(const std::string& path) {
  SCOPED_TRACE(path);
  const Checkpoint checkpoint(path);
  const auto host = on_host<Family>(checkpoint);
  std::vector<std::int32_t> prompt;
  for (int i = 0; i < 14; ++i)
    prompt.push_back(static_cast<std::int32_t>((i * 37 + 5) % host->info().vocabulary));
  expect_the_hosts(*host, *on_device<float, Family>(checkpoint), prompt, 8, 1e-8, true);
  if constexpr (std::is_same_v<Family, LlamaFamily>)
    expect_the_hosts(*host, *on_device<bfloat16, Family>(checkpoint), prompt, 0, 1e-3, false);
}

TEST(Models, SmallCheckpointsGiveTheHostsTokens) {
  const char* golden = std::getenv("ASHLAR_TEST_DATA");
  ASSERT_TRUE(golden != nullptr) << "ASHLAR_TEST_DATA does not say where tests/golden is";
  for (const char* name : {"llama2", "llama3", "llama_yarn"})
    expect_golden<LlamaFamily>(std::string(golden) + "/decoder/" + name);
  expect_golden<Qwen3Family>(std::string(golden) + "/decoder/qwen3");
}

TEST(Models, SmolLm2GivesTheHostsTokens) {
  const char* path = std::getenv("ASHLAR_SMOLLM2");
  if (path == nullptr || *path == '\0') return;
  const Checkpoint checkpoint(path);
  const std::vector<std::int32_t> prompt = {1,  504, 11576, 346, 260, 1343, 28, 216,
                                            33, 34,  35,    36,  253, 4237, 351};
  const auto host = on_host<LlamaFamily>(checkpoint);
  expect_the_hosts(*host, *on_device<float, LlamaFamily>(checkpoint), prompt, 24, 1e-6, true);
  expect_the_hosts(*host, *on_device<bfloat16, LlamaFamily>(checkpoint), prompt, 0, 1e-2, false);
}

}  // namespace
