// What the configurations of vision models have in common.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/presets/decoder_config.hpp>
#include <ashlar/models/vision_encoder.hpp>
#include <ashlar/nn/head/class_heads.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Fills the image's and patches' sizes and `layers` layers like `layer`; `patch` is what an absent
/// patch_size means. Throws ValueError for an image that is not whole patches, and for sizes beyond
/// those of any image.
template <class Config, class Layer>
void fill_vision(Config& c, const ConfigReader& j, const Layer& layer, std::string_view image_key,
                 index_t layers, index_t patch = 16) {
  c.d_model = c.stack.d_model = layer.dims.d_model;
  constexpr index_t widest = 1 << 16;
  c.height = c.width = j.size(image_key, 224, 1, widest);
  c.patches.channels = j.size("num_channels", 3, 1, widest);
  c.patches.patch = j.size("patch_size", patch, 1, widest);
  if (c.height % c.patches.patch != 0)
    fail<ValueError>(j.what(image_key), " is ", c.height, ", expected a multiple of patch_size ",
                     c.patches.patch);
  c.stack.layers.assign(static_cast<std::size_t>(layers), layer);
  if constexpr (std::is_same_v<decltype(c.stack.final_norm), decltype(c.stack.layers[0].norm)>)
    c.stack.final_norm = layer.norm;
}

/// How files store the tables of a VisionEncoder.
template <class Config>
std::vector<index_t> position_shape(const Config& c) {
  return {c.position_rows(), c.d_model};
}
template <class Config>
std::vector<index_t> patch_shape(const Config& c) {
  return {c.d_model, c.patches.channels, c.patches.patch, c.patches.patch};
}

/// Rows of a classifier, 0 where the checkpoint has none.
inline index_t rows_of(const Checkpoint& checkpoint, std::string_view tensor) {
  const TensorInfo* t = checkpoint.tensors().find(tensor);
  return t && !t->shape.empty() ? t->shape[0] : 0;
}

/// timm's names for sizes.
inline constexpr SizeKeys timm_keys{
    .d_model = "embed_dim", .n_heads = "num_heads", .n_kv_heads = "", .head_dim = ""};

/// The hidden width that a ratio gives, as timm and transformers round it. Throws ValueError below
/// 1 and beyond what a model has.
inline index_t ffn_width_of(const ConfigReader& j, std::string_view key, double ratio,
                            index_t d_model) {
  const double width = static_cast<double>(d_model) * j.positive(key, ratio);
  if (!(width >= 1 && width < 1e9))
    fail<ValueError>(j.what(key), " gives a hidden width of ", width);
  return static_cast<index_t>(width);
}

}  // namespace ashlar::inline ASHLAR_ABI
