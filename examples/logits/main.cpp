// Writes what a checkpoint gives for an input, its logits above all, to a safetensors file.
#include <cinttypes>
#include <string>

#include "common/any_model.hpp"
#include "common/encoder_run.hpp"
#include "common/program.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

struct Arguments {
  std::string checkpoint, tokens, types, decoder_tokens, input, out;
  LogitsOptions options;
  ModelOptions running;
};

EncoderInput read_arguments(const Arguments& arguments) {
  EncoderInput input;
  if (!arguments.tokens.empty()) input.tokens = parse_padded_tokens(arguments.tokens, "--tokens");
  if (!arguments.types.empty()) input.types = parse_padded_tokens(arguments.types, "--types");
  if (!arguments.decoder_tokens.empty())
    input.decoder_tokens = parse_padded_tokens(arguments.decoder_tokens, "--decoder-tokens");
  if (!arguments.input.empty()) read_input(arguments.input, input);
  return input;
}

void print_tensor(const std::string& path, const std::string& name,
                  const std::vector<index_t>& shape) {
  std::printf("%s: %s %s\n", path.c_str(), name.c_str(),
              ashlar::detail::shape_text(shape.data(), static_cast<int>(shape.size())).c_str());
}
void print_hash(const std::vector<float>& values) {
  std::printf("hash: %016" PRIx64 "\n", hash_bits(values));
}

void run(LanguageModel& model, const EncoderInput& input, const Arguments& arguments,
         const SafetensorsMetadata& metadata) {
  input.expect(model.info().family, input.has_tokens);
  const LogitsResult result = run_logits(model, *input.tokens, arguments.options);
  write_logits(arguments.out, result, metadata);
  print_tensor(arguments.out, "logits", {result.batch, result.length, result.vocabulary});
  print_hash(result.logits);
}

template <class Model>
void run(Model& model, const EncoderInput& input, const Arguments& arguments,
         const SafetensorsMetadata& metadata) {
  const EncoderOutput output = run_encoder(model, input, arguments.options);
  write_output(arguments.out, output, metadata);
  std::vector<float> all;
  for (const NamedTensor& t : output.results) {
    print_tensor(arguments.out, t.name, t.shape);
    all.insert(all.end(), t.values.begin(), t.values.end());
  }
  print_hash(all);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Writes what a checkpoint gives for an input to a safetensors file:\n"
      "  decoders          --tokens; logits, and with --hidden all hidden_states in one\n"
      "                    tensor [L + 1, B, T, D]\n"
      "  BERT and its kin  --tokens [--types]; last_hidden_state, and what heads there are:\n"
      "                    logits, pooler_output; of a BERT with both its heads\n"
      "                    prediction_logits and seq_relationship_logits\n"
      "  T5, BART, the transformer of 2017\n"
      "                    --tokens --decoder-tokens; encoder_last_hidden_state,\n"
      "                    decoder_last_hidden_state, logits\n"
      "  Whisper           --input with input_features [B, mels, frames], --decoder-tokens;\n"
      "                    the same\n"
      "  ViT, DINOv2, CaiT --input with pixel_values [B, channels, height, width];\n"
      "                    last_hidden_state, and what heads there are: logits, pooler_output\n"
      "  CLIP              --tokens, --input with pixel_values, or both; text_embeds,\n"
      "                    image_embeds, logits_per_image and what leads to them\n"
      "Names are those of the models in transformers. All are F32 but greedy, I64 [B, N]. With\n"
      "--hidden there is also [encoder_|decoder_|text_|vision_]hidden_states.I: what enters layer\n"
      "I, and as the last what leaves the layers, which transformers shows after the final norm\n"
      "but for images, CLIP and the transformer of 2017; of CaiT class_states.I too, the class\n"
      "token after each of its layers. Rows past the end of a shorter sequence are zeros.\n"
      "Prints the shapes and a hash of the bits (hidden states not among them).",
      "logits");
  app.add_option("checkpoint", arguments.checkpoint,
                 "A .gguf file, or a folder with config.json and *.safetensors")
      ->type_name("CHECKPOINT")
      ->required();
  app.add_option("--tokens", arguments.tokens,
                 "Token ids; sequences separated by ;, of equal length under a decoder")
      ->type_name("1,2,3[;4,5,6]");
  app.add_option("--types", arguments.types, "BERT's token types, all 0 without")
      ->type_name("0,0,1[;0,1,1]");
  app.add_option("--decoder-tokens", arguments.decoder_tokens,
                 "Token ids of the decoder, sequences of equal length")
      ->type_name("1,2[;3,4]");
  app.add_option("--input", arguments.input,
                 "A file with pixel_values or input_features, as the model's preprocessor gives "
                 "them; other tensors are left alone")
      ->type_name("F.safetensors");
  app.add_option("--out", arguments.out, "The file to write")
      ->type_name("F.safetensors")
      ->required();
  app.add_flag("--hidden", arguments.options.hidden, "Write the hidden states too");
  app.add_option("--greedy", arguments.options.greedy,
                 "Continue each sequence of a decoder by N tokens, through the caches")
      ->type_name("N")
      ->check(at_least(0, index_t{1} << 31));
  add_backend_option(app, arguments.running);
  add_threads_option(app, arguments.running);

  return run_program(app, argc, argv, [&] {
    const EncoderInput input = read_arguments(arguments);
    const Checkpoint checkpoint(arguments.checkpoint);
    const AnyModel any = open_any_model(checkpoint, arguments.running);
    std::visit(
        [&](const auto& model) {
          run(*model, input, arguments,
              {{"family", checkpoint.family()}, {"backend", arguments.running.backend}});
        },
        any.model);
  });
}
