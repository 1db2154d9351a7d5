// Writes the numbers that examples/pictures/draw.py draws.
#include <filesystem>

#include "common/program.hpp"
#include "pictures.hpp"

int main(int argc, char** argv) {
  using namespace ashlar::examples;
  std::string folder, model;
  CLI::App app(
      "Writes the numbers behind the pictures of docs/pictures.md to a folder; then\n"
      "  python3 examples/pictures/draw.py FOLDER docs/img\n"
      "draws them. Attention is left out without a model.",
      "pictures");
  app.add_option("folder", folder, "Where the files go; made if it is not there")
      ->type_name("FOLDER")
      ->required();
  app.add_option("--model", model, "A Llama model for the pictures of attention, SmolLM2 say")
      ->type_name("MODEL.gguf");
  return run_program(app, argc, argv, [&] {
    std::filesystem::create_directories(folder);
    write_norms(folder);
    write_activations(folder);
    write_rope(folder);
    write_residual(folder);
    if (!model.empty()) write_attention(folder, model);
  });
}
