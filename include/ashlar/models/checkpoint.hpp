// Checkpoint: a model on disk, a GGUF file or a Hugging Face folder.
#pragma once

#include <ashlar/models/config_reader.hpp>
#include <ashlar/weights/gguf.hpp>
#include <ashlar/weights/safetensors.hpp>
#include <ashlar/weights/tensor_part.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// An opened checkpoint: its tensors, and the configuration in one of two forms. A folder that
/// wraps a language model with other ones (images, sound) is the language model: text_config, and
/// the tensors named for it.
class Checkpoint {
 public:
  /// `path` is a .gguf file or a folder with config.json and *.safetensors. Throws FileError.
  explicit Checkpoint(const std::string& path) : path_(path) {
    if (path.empty())
      fail<FileError>("the path of the checkpoint is empty, expected a .gguf file or a folder");
    if (path.ends_with(".safetensors"))
      fail<FileError>(
          path, ": is a file of tensors, expected its folder (with config.json) or a .gguf file");
    const std::string config = path + "/config.json";
    if (detail::can_open(config)) {
      config_ = std::make_unique<ConfigReader>(config);
      tensors_ = open_safetensors_folder(path);
      take_language_model();
    } else if (detail::can_open(path + "/.")) {
      fail<FileError>(path, ": is a folder without config.json");
    } else {
      auto file = std::make_unique<GgufFile>(path);
      gguf_ = file.get();
      tensors_ = std::move(file);
    }
  }

  const std::string& path() const { return path_; }
  const TensorSource& tensors() const { return *tensors_; }
  /// Null for a folder.
  const GgufFile* gguf() const { return gguf_; }
  /// Null for a GGUF file.
  const ConfigReader* config() const { return config_.get(); }
  /// The same for a family that is read from folders only. Throws ValueError for a GGUF file.
  const ConfigReader& json() const {
    if (gguf_)
      fail<ValueError>(path_, ": ", family(), " is read from folders with config.json only");
    return *config_;
  }
  /// Whether it is a part of a folder with other models.
  bool wrapped() const { return wrapped_; }
  /// model_type of config.json, or general.architecture.
  std::string family() const {
    return gguf_ ? std::string(gguf_->string("general.architecture"))
                 : config_->string("model_type");
  }

 private:
  void take_language_model() {
    constexpr std::string_view prefixes[] = {"language_model.", "model.language_model.",
                                             "model.text_model."};
    auto text = config_->object("text_config");
    if (!text || !text->has("model_type")) return;
    for (const TensorInfo& tensor : tensors_->tensors())
      for (const std::string_view prefix : prefixes)
        wrapped_ = wrapped_ || tensor.name.starts_with(prefix);
    if (!wrapped_) return;
    tensors_ = std::make_unique<TensorPart>(
        std::move(tensors_), std::initializer_list<TensorPart::Prefix>{{prefixes[0], ""},
                                                                       {prefixes[1], "model."},
                                                                       {prefixes[2], "model."},
                                                                       {"lm_head.", "lm_head."}});
    config_ = std::make_unique<ConfigReader>(std::move(*text));
  }

  std::string path_;
  std::unique_ptr<TensorSource> tensors_;
  std::unique_ptr<ConfigReader> config_;
  const GgufFile* gguf_ = nullptr;
  bool wrapped_ = false;
};

}  // namespace ashlar::inline ASHLAR_ABI
