// What the program `logits` gives a model that is no causal language model.
#pragma once

#include <ashlar/weights/safetensors.hpp>
#include <optional>

#include "token_table.hpp"

namespace ashlar::examples {

struct FloatTensor {
  std::vector<index_t> shape;
  std::vector<float> values;

  template <int Rank>
  TensorView<const float, Rank> view() const {
    index_t extents[Rank];
    for (int r = 0; r < Rank; ++r) extents[r] = shape[static_cast<std::size_t>(r)];
    return {values.data(), extents};
  }
};

struct EncoderInput {
  std::optional<TokenTable> tokens, types, decoder_tokens;
  std::optional<FloatTensor> pixel_values;    ///< [B, C, H, W]
  std::optional<FloatTensor> input_features;  ///< [B, C, frames]

  /// The parts of an input, as bits.
  enum Part : unsigned {
    has_tokens = 1,
    has_types = 2,
    has_decoder = 4,
    has_pixels = 8,
    has_features = 16
  };
  unsigned parts() const {
    return (tokens ? has_tokens : 0u) | (types ? has_types : 0u) |
           (decoder_tokens ? has_decoder : 0u) | (pixel_values ? has_pixels : 0u) |
           (input_features ? has_features : 0u);
  }
  static std::string names(unsigned parts) {
    constexpr const char* all[] = {"--tokens", "--types", "--decoder-tokens",
                                   "pixel_values of --input", "input_features of --input"};
    std::string list;
    for (unsigned i = 0; i < std::size(all); ++i)
      if (parts & (1u << i)) list += (list.empty() ? "" : " and ") + std::string(all[i]);
    return list.empty() ? "nothing" : list;
  }
  /// Throws: ValueError unless all required parts are there and no others but optional ones. Where
  /// none is required, one of the optional ones must be there.
  void expect(std::string_view family, unsigned required, unsigned optional = 0) const {
    const unsigned got = parts(), others = got & ~(required | optional);
    if (others == 0 && (required ? (got & required) == required : got != 0)) return;
    const std::string wanted =
        required == 0 ? "one or more of " + names(optional)
                      : names(required) + (optional ? ", optionally " + names(optional) : "");
    fail<ValueError>(family, ": got ", names(got), ", expected ", wanted);
  }
};

/// Reads pixel_values and input_features, which of them are there; other tensors are left alone.
/// Throws: FileError; ValueError for tensors of another rank or type, and without elements.
inline void read_input(const std::string& path, EncoderInput& input) {
  const SafetensorsFile file(path);
  const auto read = [&](const char* name, std::size_t rank, const char* extents,
                        std::optional<FloatTensor>& to) {
    const TensorInfo* tensor = file.find(name);
    if (!tensor) return;
    if (tensor->shape.size() != rank || tensor->elements() == 0)
      fail<ValueError>(
          path, ": ", name, " is ",
          ashlar::detail::shape_text(tensor->shape.data(), static_cast<int>(tensor->shape.size())),
          ", expected ", extents, ", none of them 0");
    to = FloatTensor{tensor->shape,
                     std::vector<float>(static_cast<std::size_t>(tensor->elements()))};
    read_f32(*tensor, to->values, path);
  };
  read("pixel_values", 4, "[images, channels, height, width]", input.pixel_values);
  read("input_features", 3, "[sequences, channels, frames]", input.input_features);
  if (!input.pixel_values && !input.input_features)
    fail<ValueError>(path, ": has neither pixel_values nor input_features");
}

}  // namespace ashlar::examples
