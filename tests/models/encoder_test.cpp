// Encoders and encoder-decoders: what calls refuse, and that a refused call changes nothing.
#include <gtest/gtest.h>

#include <ashlar/models/model.hpp>
#include <ashlar/models/presets/bart.hpp>
#include <ashlar/models/presets/bert.hpp>
#include <ashlar/models/presets/whisper.hpp>
#include <ashlar/models/text_encoder.hpp>
#include <ashlar/simd.hpp>

#include "model_files.hpp"
#include "support/compare.hpp"
#include "support/message.hpp"

namespace {

using namespace ashlar;
using models_test::at;
using models_test::Floats;
using Ids = std::vector<std::int32_t>;
using IdsView = MatrixView<const std::int32_t>;
using Ctx = Context<backend::SimdCpu>;

std::string folder_of(const char* name) {
  return std::string(ASHLAR_TEST_DATA) + "/encoder/" + name;
}

TEST(Encoder, RefusesWhatDoesNotFit) {
  const auto model = load_model<BertFamily>(Checkpoint(folder_of("bert")));
  Ctx ctx;
  const index_t D = model.config.d_model;
  Ids ids(60, 3), types(60, 1);
  Floats out(at(60 * D));
  const auto message = [&](index_t B, index_t T, index_t types_of, index_t rows) {
    TokenBatch batch(B, T);
    return support::message_of<Error>([&] {
      BertFamily::Lm::forward(ctx, model.config, model.weights, batch, IdsView(ids.data(), {B, T}),
                              types_of ? IdsView(types.data(), {B, types_of}) : IdsView(),
                              MatrixView<float>(out.data(), {rows, D}));
    });
  };
  EXPECT_EQ(message(2, 5, 5, 10), "");
  EXPECT_EQ(message(1, 25, 0, 25), "Encoder: 25 tokens, the model was made for 24");
  EXPECT_NE(message(2, 5, 4, 10).find("types has shape [2, 4], expected [2, 5]"),
            std::string::npos);
  EXPECT_NE(message(2, 5, 0, 9).find("hidden has shape [9, 32], expected [10, 32]"),
            std::string::npos);
  ids[8] = -1;
  EXPECT_EQ(message(2, 5, 0, 10), "Encoder: token 3 of sequence 1 is -1, expected 0 to 60");
  ids[8] = 3;
  ids[3] = 61;
  EXPECT_NE(message(1, 5, 0, 5).find("token 3 of sequence 0 is 61, expected 0 to 60"),
            std::string::npos);
  ids[3] = 3;
  types[2] = 2;
  EXPECT_NE(message(1, 5, 5, 5).find("type 2 of sequence 0 is 2, expected 0 to 1"),
            std::string::npos);
}

TEST(Encoder, NoTypesAreTypeZero) {
  const auto encoder = load_text_encoder<backend::SimdCpu, BertFamily>(
      Checkpoint(folder_of("bert")), {}, [](index_t, index_t) {});
  EXPECT_EQ(encoder->info().layers, 3);
  EXPECT_EQ(encoder->info().context_length, 24);
  const Ids ids{5, 6, 7, 8, 9, 10}, zeros(6, 0), ones(6, 1);
  const auto run = [&](IdsView types) {
    TokenBatch batch(2, 3);
    Floats out(at(6 * encoder->info().d_model), NAN);
    encoder->forward(batch, IdsView(ids.data(), {2, 3}), types,
                     MatrixView<float>(out.data(), {6, encoder->info().d_model}));
    return out;
  };
  const Floats none = run({});
  EXPECT_TRUE(support::same_bits(none, run(IdsView(zeros.data(), {2, 3}))));
  EXPECT_FALSE(support::same_bits(none, run(IdsView(ones.data(), {2, 3}))));
}

TEST(Encoder, OnlyNamedFamiliesAreLoaded) {
  const std::string text = support::message_of<ValueError>([] {
    load_text_encoder<backend::SimdCpu, BertFamily>(Checkpoint(folder_of("bart")), {},
                                                    [](index_t, index_t) {});
  });
  EXPECT_NE(text.find("model family is \"bart\", supported: bert"), std::string::npos) << text;
}

TEST(Encoder, BertsOlderNamesAreTheSameModel) {
  models_test::TemporaryFolder folder;
  auto model = models_test::Model::golden("../encoder/bert");
  models_test::Tensors renamed;
  for (auto& [name, tensor] : model.tensors) {
    std::string older = name;
    for (const auto& [ending, other] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                        std::pair{"LayerNorm.bias", "LayerNorm.beta"}})
      if (name.ends_with(ending))
        older = name.substr(0, name.size() - std::string_view(ending).size()) + other;
    renamed[older] = tensor;
  }
  ASSERT_TRUE(renamed.contains("bert.embeddings.LayerNorm.gamma"));
  model.tensors = renamed;
  model.write(folder.path());
  const Ids ids{5, 6, 7, 8};
  const auto run = [&](const std::string& path) {
    const auto encoder = load_text_encoder<backend::SimdCpu, BertFamily>(Checkpoint(path), {},
                                                                         [](index_t, index_t) {});
    TokenBatch batch(1, 4);
    Floats out(at(4 * encoder->info().d_model), NAN);
    encoder->forward(batch, IdsView(ids.data(), {1, 4}), {},
                     MatrixView<float>(out.data(), {4, encoder->info().d_model}));
    return out;
  };
  EXPECT_TRUE(support::same_bits(run(folder.path()), run(folder_of("bert"))));
}

TEST(AudioEncoder, SaysWhatTheFramesGive) {
  const auto model = load_model<WhisperFamily>(Checkpoint(folder_of("whisper")));
  const auto& c = model.config.encoder;  // 20 positions, every second frame gives one
  Ctx ctx;
  const auto message = [&](index_t B, index_t T, index_t frames) {
    TokenBatch batch(B, T);
    const Floats features(at(2 * c.conv1.channels * frames));
    Floats out(at(B * T * c.d_model));
    return support::message_of<Error>([&] {
      WhisperFamily::Lm::Source::forward(
          ctx, c, model.weights.encoder, batch,
          TensorView<const float, 3>(features.data(), {2, c.conv1.channels, frames}),
          MatrixView<float>(out.data(), {B * T, c.d_model}));
    });
  };
  EXPECT_EQ(message(2, 20, 40), "");
  EXPECT_EQ(message(2, 21, 41),
            "AudioEncoder: 41 frames give 21 rows, expected 1 to the model's 20");
  EXPECT_EQ(message(2, 10, 40),
            "AudioEncoder: 2 sequences of 40 frames give 20 rows each, the batch has 2 sequences "
            "of 10");
}

class Targets : public testing::Test {
 protected:
  using Lm = BartFamily::Lm;
  static constexpr index_t B = 2, S = 6, T = 5;

  Targets() : model_(load_model<BartFamily>(Checkpoint(folder_of("bart")))) {
    const index_t D = model_.config.d_model;
    const Ids source{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    TokenBatch batch(B, S);
    const std::vector<index_t> lengths{6, 4};
    batch.set_lengths({lengths.data(), {B}});
    Floats memory(at(B * S * D));
    const MatrixView<float> rows(memory.data(), {B * S, D});
    Lm::Source::forward(ctx_, model_.config.encoder, model_.weights.encoder, batch,
                        IdsView(source.data(), {B, S}), {}, rows);
    state_ = std::make_unique<Lm::State>(model_.config, B, T, S);
    Lm::remember(ctx_, model_.config, model_.weights, *state_, batch,
                 MatrixView<const float>(rows));
  }
  Floats run(const Ids& tokens) {
    const index_t count = static_cast<index_t>(tokens.size()) / B, D = model_.config.d_model;
    Floats out(at(B * count * D), NAN);
    Lm::forward(ctx_, model_.config, model_.weights, *state_, IdsView(tokens.data(), {B, count}),
                MatrixView<float>(out.data(), {B * count, D}));
    return out;
  }

  Ctx ctx_;
  Model<Lm> model_;
  std::unique_ptr<Lm::State> state_;
};

TEST_F(Targets, ARefusedCallLeavesTheStateAsItWas) {
  run({3, 4, 5, 6});
  const Floats want = run({7, 8});
  state_->truncate(2);
  EXPECT_THROW(run({7, 8, 9, 10, 11, 12, 13, 14}), ValueError);  // 4 more than there is room for
  EXPECT_EQ(support::message_of<ValueError>([&] {
              run({7, 45});
            }),
            "EncoderDecoder: token 0 of sequence 1 is 45, expected 0 to 44");
  EXPECT_THROW(run({-1, 8}), ValueError);
  EXPECT_EQ(state_->length(), 2);
  EXPECT_TRUE(support::same_bits(run({7, 8}), want));
  EXPECT_EQ(state_->length(), 3);
}

TEST_F(Targets, AnotherMemoryBeginsNewTargets) {
  const Floats before = run({3, 4});
  const index_t D = model_.config.d_model;
  TokenBatch batch(B, S);
  const Floats memory(at(B * S * D), 0.5f);
  const MatrixView<const float> rows(memory.data(), {B * S, D});
  Lm::remember(ctx_, model_.config, model_.weights, *state_, batch, rows);
  EXPECT_EQ(state_->length(), 0);
  const Floats after = run({3, 4});
  EXPECT_FALSE(support::same_bits(after, before));
  TokenBatch other(3, S);
  EXPECT_THROW(Lm::remember(ctx_, model_.config, model_.weights, *state_, other, rows), ShapeError);
  TokenBatch longer(B, S + 1);
  const Floats more(at(B * (S + 1) * D));
  EXPECT_THROW(Lm::remember(ctx_, model_.config, model_.weights, *state_, longer,
                            MatrixView<const float>(more.data(), {B * (S + 1), D})),
               ValueError);
  state_->truncate(0);  // the refused ones changed nothing
  EXPECT_TRUE(support::same_bits(run({3, 4}), after));
}

TEST_F(Targets, WithoutAMemoryNothingRuns) {
  state_ = std::make_unique<Lm::State>(model_.config, B, T, S);
  EXPECT_THROW(run({3, 4}), ValueError);
}

TEST_F(Targets, StatesBeyondTheModelAreRefused) {
  EXPECT_THROW(Lm::State(model_.config, 1, 25, 6), ValueError);
  EXPECT_THROW(Lm::State(model_.config, 0, 4, 6), ValueError);
  EXPECT_THROW(Lm::State(model_.config, 1, 4, -1), ValueError);
}

}  // namespace
