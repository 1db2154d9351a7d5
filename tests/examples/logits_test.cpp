// What the program `logits` writes, against the golden models and the real SmolLM2.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "common/encoder_input.hpp"
#include "common/logits_run.hpp"
#include "common/open_model.hpp"
#include "common/sequence.hpp"
#include "golden/model_case.hpp"
#include "support/compare.hpp"

namespace {

using namespace ashlar::examples;
using ashlar::index_t;
using ashlar::join;

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const ashlar::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParseTokens, Tables) {
  const TokenTable one = parse_tokens("7");
  EXPECT_EQ(one.batch, 1);
  EXPECT_EQ(one.length, 1);
  EXPECT_EQ(one.ids, (std::vector<std::int32_t>{7}));
  const TokenTable two = parse_tokens("1,2,3;4,50,2147483647");
  EXPECT_EQ(two.batch, 2);
  EXPECT_EQ(two.length, 3);
  EXPECT_EQ(two.ids, (std::vector<std::int32_t>{1, 2, 3, 4, 50, 2147483647}));
}

TEST(ParseTokens, NamesWhatIsWrong) {
  const auto error = [](const char* text) { return message_of([&] { parse_tokens(text); }); };
  EXPECT_EQ(error(""), "tokens of sequence 1: got none, expected at least 1");
  EXPECT_EQ(error("1,2;"), "tokens of sequence 2: got none, expected at least 1");
  EXPECT_EQ(error("1,2;3"), "tokens of sequence 2: got 1, expected 2 as in the first sequence");
  for (const char* item : {"x", "", "-1", "1.5", " 2", "2147483648", "+3", "0x1"})
    EXPECT_EQ(error((std::string("1,") + item).c_str()),
              join("tokens of sequence 1: item 2 is \"", item, "\", expected a token id"));
}

TEST(ParseTokens, NamesTheOption) {
  EXPECT_EQ(message_of([&] { parse_padded_tokens("1;2,x", "--types"); }),
            "--types of sequence 2: item 2 is \"x\", expected a token id");
  EXPECT_EQ(message_of([&] { expect_equal_lengths(parse_padded_tokens("1,2;3", "--types")); }),
            "--types of sequence 2: got 1, expected 2 as in the first sequence");
}

TEST(EncoderInput, NamesWhatIsMissingAndWhatIsTooMuch) {
  EncoderInput input;
  const auto error = [&](unsigned required, unsigned optional) {
    return message_of([&] { input.expect("m", required, optional); });
  };
  const unsigned either = EncoderInput::has_tokens | EncoderInput::has_pixels;
  EXPECT_EQ(error(0, either),
            "m: got nothing, expected one or more of --tokens and pixel_values of --input");
  EXPECT_EQ(error(EncoderInput::has_tokens, EncoderInput::has_types),
            "m: got nothing, expected --tokens, optionally --types");
  input.tokens = parse_padded_tokens("1");
  EXPECT_EQ(error(0, either), "no error");
  EXPECT_EQ(error(EncoderInput::has_tokens, 0), "no error");
  input.types = parse_padded_tokens("0");
  EXPECT_EQ(error(0, either),
            "m: got --tokens and --types, expected one or more of --tokens and pixel_values of "
            "--input");
}

TEST(ParseTokens, PadsShorterSequences) {
  const TokenTable table = parse_padded_tokens("1;2,3,4;5,6");
  EXPECT_EQ(table.batch, 3);
  EXPECT_EQ(table.length, 3);
  EXPECT_EQ(table.ids, (std::vector<std::int32_t>{1, 0, 0, 2, 3, 4, 5, 6, 0}));
  EXPECT_EQ(table.lengths, (std::vector<index_t>{1, 3, 2}));
  EXPECT_EQ(table.token_batch().lengths()(2, 3), 2);
  EXPECT_TRUE(parse_padded_tokens("1,2;3,4").lengths.empty());
  EXPECT_EQ(message_of([&] { expect_equal_lengths(table); }),
            "tokens of sequence 2: got 3, expected 1 as in the first sequence");
}

TEST(HashBits, IsFnv1a) {
  EXPECT_EQ(hash_bits({}), 0xCBF29CE484222325u);
  float value;
  std::memcpy(&value, "foob", 4);  // a string of the algorithm's published test vectors
  if constexpr (std::endian::native == std::endian::little) {
    EXPECT_EQ(hash_bits({&value, 1}), 0xDD120E790C2512AFu);
  }
  const float zeros[] = {0.0f, -0.0f};
  EXPECT_NE(hash_bits({&zeros[0], 1}), hash_bits({&zeros[1], 1}));
}

/// A golden model on a backend.
class GoldenLogits : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(GoldenLogits, FileHoldsWhatIsExpected) {
  const auto [name, backend] = GetParam();
  const golden::ModelCase c(std::string(ASHLAR_TEST_DATA "/decoder/") + name);
  const auto greedy = c.expected<std::int64_t>("greedy");
  const RunningModel model =
      open_model(ashlar::Checkpoint(c.folder()), {.backend = backend, .threads = 2});
  const TokenTable tokens{c.sequences(), c.tokens(), c.expected<std::int32_t>("input_ids")};
  const LogitsResult result =
      run_logits(*model, tokens,
                 {.hidden = true, .greedy = static_cast<index_t>(greedy.size()) / c.sequences()});
  const std::string path = testing::TempDir() + join("logits_", name, "_", backend);
  write_logits(path, result, {{"backend", backend}});

  const ashlar::SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.metadata().find("backend")->second, backend);
  for (const char* tensor : {"logits", "hidden_states", "greedy"}) {
    EXPECT_EQ(file.at(tensor).shape, c.expected().at(tensor).shape) << tensor;
    EXPECT_EQ(file.at(tensor).dtype, c.expected().at(tensor).dtype) << tensor;
  }
  const auto logits = c.expected<float>("logits");
  const double tolerance =
      (std::max)(20 * c.metadata("f32_error"), 2e-5 * support::max_magnitude(logits));
  EXPECT_TRUE(support::all_close(golden::read_values<float>(file.at("logits")), logits, tolerance));
  EXPECT_TRUE(support::all_close_to_largest(golden::read_values<float>(file.at("hidden_states")),
                                            c.expected<float>("hidden_states"), 2e-5));
  EXPECT_EQ(golden::read_values<std::int64_t>(file.at("greedy")), greedy);
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenLogits,
                         testing::Combine(testing::Values("llama2", "llama3", "llama_linear",
                                                          "llama_dynamic", "llama_yarn", "gpt2",
                                                          "gpt2_layer_scale"),
                                          testing::Values("scalar", "simd", "eigen")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param);
                         });

TEST(Logits, ScalarAndSimdHashAlike) {
  const ashlar::Checkpoint checkpoint(ASHLAR_TEST_DATA "/decoder/llama3");
  const auto hash = [&](const char* backend, int threads) {
    const RunningModel model = open_model(checkpoint, {.backend = backend, .threads = threads});
    return hash_bits(run_logits(*model, parse_tokens("1,2,3,4,5;6,7,8,9,10")).logits);
  };
  const std::uint64_t expected = hash("scalar", 1);
  EXPECT_EQ(hash("simd", 1), expected);
  EXPECT_EQ(hash("simd", 2), expected);
}

TEST(Logits, WithoutWishesOnlyLogits) {
  const RunningModel model = open_model(ashlar::Checkpoint(ASHLAR_TEST_DATA "/decoder/gpt2"));
  const std::string path = testing::TempDir() + "logits_only";
  write_logits(path, run_logits(*model, parse_tokens("3,1")), {});
  const ashlar::SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "logits");
  std::remove(path.c_str());
}

TEST(Logits, Refusals) {
  const RunningModel model = open_model(ashlar::Checkpoint(ASHLAR_TEST_DATA "/decoder/llama3"));
  const index_t V = model->info().vocabulary, limit = model->info().context_length;
  const auto error = [&](const TokenTable& tokens, index_t greedy) {
    return message_of([&] { run_logits(*model, tokens, {.greedy = greedy}); });
  };
  const std::string outside = error({1, 1, {static_cast<std::int32_t>(V)}}, 0);
  EXPECT_NE(outside.find(join("is ", V, ", expected 0 to ", V - 1)), std::string::npos) << outside;
  const std::string longer = error({1, 1, {1}}, limit + 1);
  EXPECT_NE(longer.find(join(limit + 1, " tokens")), std::string::npos) << longer;
  EXPECT_NE(longer.find(join("context of ", limit)), std::string::npos) << longer;
  EXPECT_EQ(error({1, 1, {1}}, limit), "no error");
  Sequence sequence(*model, 4);
  EXPECT_EQ(message_of([&] { sequence.push(std::span<const std::int32_t>()); }),
            "got no tokens to run, expected at least 1");
}

/// The published model: what the program gives for both golden prompts.
class SmolLm2Logits : public testing::TestWithParam<int> {};

TEST_P(SmolLm2Logits, AgreeWithTheGoldenPrompts) {
  const char* path = std::getenv("ASHLAR_SMOLLM2");
  if (!path) GTEST_SKIP() << "ASHLAR_SMOLLM2 does not name the model file";
  const ashlar::SafetensorsFile expected(ASHLAR_TEST_DATA "/real/smollm2.safetensors");
  const auto at = [&](const char* name) -> const ashlar::TensorInfo& {
    return expected.at(join("prompt", GetParam(), ".", name));
  };
  const auto ids = golden::read_values<std::int32_t>(at("input_ids"));
  const auto continuation = golden::read_values<std::int64_t>(at("continuation"));
  const RunningModel model = open_model(ashlar::Checkpoint(path), {.threads = 2});
  const TokenTable tokens{1, static_cast<index_t>(ids.size()), ids};
  const LogitsResult result = run_logits(
      *model, tokens, {.hidden = true, .greedy = static_cast<index_t>(continuation.size())});
  EXPECT_EQ(result.greedy, continuation);

  const std::span<const float> last =
      std::span(result.logits).last(static_cast<std::size_t>(result.vocabulary));
  EXPECT_TRUE(support::all_close(last, golden::read_values<float>(at("logits")), 1e-3));
  // The last position of [L + 1, 1, T, D].
  std::vector<float> states;
  const auto D = static_cast<std::size_t>(result.d_model);
  for (std::size_t row = ids.size(); row <= result.hidden_states.size() / D; row += ids.size()) {
    const auto end = result.hidden_states.begin() + static_cast<std::ptrdiff_t>(row * D);
    states.insert(states.end(), end - static_cast<std::ptrdiff_t>(D), end);
  }
  EXPECT_TRUE(
      support::all_close_to_largest(states, golden::read_values<float>(at("last_hidden")), 2e-5));

  // The same tokens in chunks and one at a time, as `generate` runs them.
  Sequence sequence(*model, static_cast<index_t>(ids.size()));
  sequence.push(std::span(ids).first(ids.size() - 1));
  EXPECT_TRUE(support::same_bits(sequence.push(ids.back()), last));
}

INSTANTIATE_TEST_SUITE_P(Prompts, SmolLm2Logits, testing::Values(0, 1));

}  // namespace
