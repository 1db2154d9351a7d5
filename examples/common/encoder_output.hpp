// What encoders, encoder-decoders and vision models gave for an input, as named tensors.
#pragma once

#include <ashlar/models/language_model.hpp>
#include <ashlar/weights/safetensors_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "token_table.hpp"

namespace ashlar::examples {

struct NamedTensor {
  std::string name;
  std::vector<index_t> shape;
  std::vector<float> values;
};

struct EncoderOutput {
  std::vector<NamedTensor> results;
  std::vector<NamedTensor> states;   ///< NAME.0 enters the first layer, NAME.L leaves the last
  std::vector<std::int64_t> greedy;  ///< [B, N]
  index_t batch = 0;

  /// A new result of zeros, as a matrix of its last extent. Moving it changes no view.
  MatrixView<float> add(const std::string& name, std::vector<index_t> shape) {
    index_t n = 1;
    for (const index_t extent : shape) n *= extent;
    const index_t width = shape.back();
    results.push_back({name, std::move(shape), std::vector<float>(static_cast<std::size_t>(n))});
    return {results.back().values.data(), {width ? n / width : 0, width}};
  }
};

namespace detail {

/// Keeps copies [B, rows of a sequence, D] of what it sees, if it is asked to.
class StateRecorder final : public LayerObserver {
 public:
  StateRecorder(EncoderOutput& output, std::string name, index_t batch, bool wanted)
      : output_(output), name_(std::move(name)), batch_(batch), wanted_(wanted) {}

  LayerObserver* get() { return wanted_ ? this : nullptr; }
  void observe(index_t i, MatrixView<const float> x) override {
    const index_t D = x.extent(1);
    NamedTensor state{join(name_, ".", i), {batch_, x.extent(0) / batch_, D}, {}};
    for (index_t m = 0; m < x.extent(0); ++m)
      state.values.insert(state.values.end(), x.row(m), x.row(m) + D);
    output_.states.push_back(std::move(state));
  }
  /// transformers shows what leaves the last layer after the final norm in most families.
  void put_last(MatrixView<const float> normed) {
    if (wanted_) output_.states.back().values.assign(normed.data(), normed.data() + normed.size());
  }

 private:
  EncoderOutput& output_;
  std::string name_;
  index_t batch_;
  bool wanted_;
};

/// Zeros in the rows past each sequence's end, which mean nothing.
inline void clear_padding(std::vector<NamedTensor>& tensors, std::string_view prefix,
                          const TokenTable& table) {
  for (NamedTensor& t : tensors)
    if (t.name.starts_with(prefix) && t.shape.size() == 3)
      for (std::size_t b = 0; b < table.lengths.size(); ++b) {
        const auto row = [&](index_t r) { return t.values.begin() + r * t.shape[2]; };
        const index_t first = static_cast<index_t>(b) * t.shape[1];
        std::fill(row(first + table.lengths[b]), row(first + t.shape[1]), 0.f);
      }
}
inline void clear_padding(EncoderOutput& output, std::string_view prefix, const TokenTable& table) {
  clear_padding(output.results, prefix, table);
  clear_padding(output.states, prefix, table);
}

}  // namespace detail

/// Writes all of it. Throws: FileError.
inline void write_output(const std::string& path, const EncoderOutput& output,
                         const SafetensorsMetadata& metadata) {
  std::vector<TensorInfo> tensors;
  for (const auto* list : {&output.results, &output.states})
    for (const NamedTensor& t : *list)
      tensors.push_back(describe_tensor<float>(t.name, t.shape, t.values));
  if (!output.greedy.empty())
    tensors.push_back(describe_tensor<std::int64_t>(
        "greedy", {output.batch, static_cast<index_t>(output.greedy.size()) / output.batch},
        output.greedy));
  write_safetensors(path, tensors, metadata);
}

}  // namespace ashlar::examples
