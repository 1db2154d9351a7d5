// What the programs' command lines have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <ashlar/core/error.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "gguf_tokenizer.hpp"
#include "open_model.hpp"

namespace ashlar::examples {

inline void add_backend_option(CLI::App& app, ModelOptions& options) {
  app.add_option("--backend", options.backend,
                 "scalar, simd, eigen; on a GPU cuda (activations of f32), cuda-f16 or cuda-bf16")
      ->type_name("NAME")
      ->capture_default_str();
}
inline void add_threads_option(CLI::App& app, ModelOptions& options) {
  app.add_option("--threads", options.threads, "Threads; 0 takes as many as the machine has")
      ->type_name("N")
      ->capture_default_str();
}

/// A check of an option: a whole number, not below `least` nor above `most`.
inline CLI::Validator at_least(index_t least,
                               index_t most = (std::numeric_limits<index_t>::max)()) {
  const auto check = [least, most](std::string& text) -> std::string {
    index_t value = 0;
    const char* end = text.data() + text.size();
    if (const auto read = std::from_chars(text.data(), end, value);
        read.ec == std::errc() && read.ptr == end && value >= least && value <= most)
      return {};
    const bool limited = most != (std::numeric_limits<index_t>::max)();
    return join("is ", text, ", expected a whole number from ", least,
                limited ? join(" to ", most) : std::string());
  };
  return CLI::Validator(check, "");
}

/// The tokenizer of a checkpoint. Throws FileError for a folder, which brings none that we read.
inline std::unique_ptr<const Tokenizer> open_tokenizer(const Checkpoint& checkpoint) {
  if (!checkpoint.gguf())
    fail<FileError>(checkpoint.path(),
                    ": is a folder, expected a .gguf file (the tokenizer is read from it)");
  return read_tokenizer(*checkpoint.gguf());
}

/// Reads the arguments and runs the program. Every error becomes a message on stderr; the result is
/// 1, or 2 for arguments that are not understood.
template <class Body>
int run_program(CLI::App& app, int argc, char** argv, Body&& body) {
  try {
    app.parse(argc, argv);
    body();
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "error: %s (--help lists the options)\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fputs("error: there is not enough memory for this\n", stderr);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace ashlar::examples
