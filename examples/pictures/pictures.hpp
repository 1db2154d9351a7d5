// The numbers behind docs/pictures.md, each picture's in a file of its own.
#pragma once

#include <ashlar/core/error.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace ashlar::examples {

/// A file of numbers with a line of names above its columns.
class Csv {
 public:
  Csv(const std::string& path, const std::string& header) : path_(path), file_(path) {
    file_ << header << '\n';
  }
  void row(const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      char text[32];
      std::snprintf(text, sizeof text, "%s%.6g", i ? "," : "", values[i]);
      file_ << text;
    }
    file_ << '\n';
  }
  ~Csv() { std::printf("%s\n", path_.c_str()); }
  /// Throws FileError when the disk did not take it all.
  void finish() {
    file_.flush();
    if (!file_) fail<FileError>(path_, ": cannot be written");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

/// Points of three elements and what RMSNorm and LayerNorm make of them: norms.csv.
void write_norms(const std::string& folder);
/// Size and change of the stream at each of 48 layers of random weights: residual.csv.
void write_residual(const std::string& folder);
/// Frequencies of each rotary rule, and its dot product by distance: rope_frequencies.csv,
/// rope.csv.
void write_rope(const std::string& folder);
/// Activations, their slopes, and gated ones over gate and up: activations.csv, gated.csv.
void write_activations(const std::string& folder);
/// Attention of some heads of a Llama model under three masks and scores: attention.json.
void write_attention(const std::string& folder, const std::string& model);

}  // namespace ashlar::examples
