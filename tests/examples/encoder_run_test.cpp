// Encoders, encoder-decoders and vision models behind their run-time interfaces. Their values are
// compared by logits_folders.py, through the program.
#include "common/encoder_run.hpp"

#include <gtest/gtest.h>

#include "common/any_model.hpp"
#include "golden/model_case.hpp"
#include "support/compare.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar::examples;
using ashlar::MatrixView;
using ashlar::TokenBatch;
template <class F>
std::string message_of(F f) {
  return support::message_of<ashlar::Error>(f);
}

AnyModel open(const std::string& name) {
  return open_any_model(ashlar::Checkpoint(ASHLAR_TEST_DATA "/encoder/" + name), {.threads = 1});
}
template <class Interface>
Interface& as(const AnyModel& any) {
  return *std::get<std::unique_ptr<Interface>>(any.model);
}
EncoderInput input_of(const std::string& tokens, const std::string& decoder_tokens) {
  EncoderInput input;
  input.tokens = parse_padded_tokens(tokens);
  input.decoder_tokens = parse_padded_tokens(decoder_tokens);
  return input;
}
const NamedTensor& at(const EncoderOutput& output, const std::string& name) {
  for (const NamedTensor& t : output.results)
    if (t.name == name) return t;
  throw std::runtime_error("no " + name);
}

TEST(SequenceModel, SaysWhatItNeeds) {
  const AnyModel t5 = open("t5_v1_0"), whisper = open("whisper");
  auto& tokens = as<ashlar::SequenceModel>(t5);
  auto& sound = as<ashlar::SequenceModel>(whisper);
  EXPECT_EQ(tokens.info().channels, 0);
  EXPECT_EQ(sound.info().channels, 8);
  EXPECT_EQ(tokens.memory_length(7), 7);
  EXPECT_EQ(sound.memory_length(39), 20);  // of convolutions by 1 and 2
  EXPECT_EQ(sound.memory_length(40), 20);
  TokenBatch batch(1, 1);
  std::vector<float> x(32), y(43);
  const std::int32_t id = 1;
  const MatrixView<float> row(x.data(), {1, 32});
  EXPECT_EQ(message_of([&] { tokens.forward({&id, {1, 1}}, row); }), "t5: forward before start");
  EXPECT_EQ(tokens.length(), 0);
  EXPECT_EQ(message_of([&] {
              tokens.encode(batch, ashlar::TensorView<const float, 3>(x.data(), {1, 8, 4}), row);
            }),
            "t5: got features of sound to encode, expected tokens");
  EXPECT_EQ(message_of([&] {
              sound.encode(batch, MatrixView<const std::int32_t>(&id, {1, 1}), row);
            }),
            "whisper: got tokens to encode, expected features of sound");
  const auto beyond = message_of([&] { sound.start(batch, row, 17); });
  EXPECT_NE(beyond.find("beyond the model's context of 16"), std::string::npos) << beyond;
}

TEST(SequenceModel, GoesBackAndForgets) {
  const AnyModel any = open("bart");
  auto& model = as<ashlar::SequenceModel>(any);
  const EncoderOutput whole = run_encoder(model, input_of("3,4,5;6,7", "2,8,9;2,10,11"));
  EXPECT_EQ(model.length(), 3);
  model.truncate(1);
  EXPECT_EQ(model.length(), 1);
  const std::int32_t rest[] = {8, 9, 10, 11};
  std::vector<float> hidden(4 * 32);
  model.forward({rest, {2, 2}}, {hidden.data(), {4, 32}});
  const std::vector<float>& all = at(whole, "decoder_last_hidden_state").values;
  for (std::size_t b = 0; b < 2; ++b)
    EXPECT_TRUE(support::same_bits(std::span(hidden).subspan(b * 64, 64),
                                   std::span(all).subspan(b * 96 + 32, 64)));
  // The shorter source by itself.
  const EncoderOutput alone = run_encoder(model, input_of("6,7", "2,10,11"));
  EXPECT_TRUE(support::same_bits(
      at(alone, "logits").values,
      std::span(at(whole, "logits").values).last(at(alone, "logits").values.size())));
}

TEST(TextEncoder, HeadsThatAreNotThere) {
  const AnyModel roberta = open("roberta"), bert = open("bert");
  auto& model = as<ashlar::TextEncoder>(roberta);
  EXPECT_TRUE(model.info().masked_lm);
  EXPECT_FALSE(model.info().pools);
  EXPECT_EQ(as<ashlar::TextEncoder>(bert).info().classes, 2);
  EXPECT_TRUE(as<ashlar::TextEncoder>(bert).info().pools);
  std::vector<float> x(24);
  const MatrixView<float> row(x.data(), {1, 24});
  EXPECT_EQ(message_of([&] { model.pool(TokenBatch(1, 1), row, row); }),
            "roberta: the checkpoint has no pooler");
  EXPECT_EQ(message_of([&] { model.classify(row, row); }),
            "roberta: the checkpoint has no classifier");
}

TEST(VisionModel, HeadsThatAreNotThere) {
  const AnyModel vit = open("vit"), dino = open("dinov2_registers"), cait = open("cait");
  std::vector<float> x(21 * 32);
  const MatrixView<float> hidden(x.data(), {17, 32}), row(x.data(), {1, 32});
  EXPECT_EQ(message_of([&] { as<ashlar::VisionModel>(vit).pool(hidden, row); }),
            "vit: the checkpoint gives nothing for an image as a whole");
  EXPECT_EQ(message_of([&] {
              as<ashlar::VisionModel>(dino).classify({x.data(), {21, 32}}, row);
            }),
            "dinov2_with_registers: the checkpoint has no classifier");
  const auto& info = as<ashlar::VisionModel>(cait).info();
  EXPECT_EQ(info.class_layers, 2);
  EXPECT_EQ(info.classes, 7);
  EXPECT_EQ(info.tokens, 17);
  EXPECT_FALSE(info.pools);
}

TEST(ImageTextModel, EitherTowerAlone) {
  const AnyModel any = open("clip");
  auto& model = as<ashlar::ImageTextModel>(any);
  EncoderInput both;
  both.tokens = parse_padded_tokens("1,5,48;7,48");
  read_input(ASHLAR_TEST_DATA "/encoder/clip/expected.safetensors", both);
  EncoderInput text, image;
  text.tokens = both.tokens;
  image.pixel_values = both.pixel_values;
  const EncoderOutput of_both = run_encoder(model, both), of_text = run_encoder(model, text),
                      of_image = run_encoder(model, image);
  EXPECT_EQ(of_both.results.size(), of_text.results.size() + of_image.results.size() + 1);
  for (const auto* part : {&of_text, &of_image})
    for (const NamedTensor& t : part->results)
      EXPECT_TRUE(support::same_bits(t.values, at(of_both, t.name).values)) << t.name;
  text.tokens = parse_padded_tokens("1,5");
  EXPECT_EQ(message_of([&] { run_encoder(model, text); }),
            "Clip: text 0 has no end-of-text token 48");
}

TEST(AnyModel, KnowsDecodersToo) {
  const AnyModel any =
      open_any_model(ashlar::Checkpoint(ASHLAR_TEST_DATA "/decoder/llama3"), {.threads = 1});
  EXPECT_EQ(as<ashlar::LanguageModel>(any).info().family, "llama");
}

}  // namespace
