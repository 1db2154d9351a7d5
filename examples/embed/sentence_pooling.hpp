// What a sentence-transformers folder says of the vector of a text.
#pragma once

#include <ashlar/models/config_reader.hpp>
#include <optional>

namespace ashlar::examples {

/// Which of a text's states is its vector: their mean, that of the first token, or the largest of
/// each element.
enum class SentencePooling { mean, first, max };

/// "mean", "cls" or "max". Throws ValueError for any other, `what` is its key.
inline SentencePooling sentence_pooling(std::string_view name, std::string_view what) {
  if (name == "mean") return SentencePooling::mean;
  if (name == "cls") return SentencePooling::first;
  if (name == "max") return SentencePooling::max;
  fail<ValueError>(what, " is \"", name, "\", supported: mean, cls, max");
}

/// The config.json of a Pooling module: pooling_mode, or in older files a switch for each mode, of
/// which none means the mean. Throws ValueError for a mode that is not supported, and for several.
inline SentencePooling read_pooling(const ConfigReader& j) {
  const std::string prefix = "pooling_mode_";
  std::vector<std::string> on;
  if (j.has("pooling_mode"))
    on = j.is_string("pooling_mode") ? std::vector<std::string>{j.string("pooling_mode")}
                                     : j.strings("pooling_mode");
  else
    for (const char* mode : {"cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens",
                             "weightedmean_tokens", "lasttoken"})
      if (j.boolean(prefix + mode, false)) on.push_back(mode);
  if (on.size() > 1)
    fail<ValueError>(j.path(), ": poolings ", on[0], " and ", on[1], ", supported: one of them");
  if (on.empty()) return SentencePooling::mean;
  const std::string mode = on[0].substr(0, on[0].find("_token"));
  const bool older = !j.has("pooling_mode");
  return sentence_pooling(older ? mode : on[0], j.what(older ? prefix + on[0] : "pooling_mode"));
}

/// What modules.json says, or 1_Pooling/config.json without it; nothing in a folder with neither.
/// Throws FileError, ValueError for a module other than the model, one pooling and Normalize.
inline std::optional<SentencePooling> find_pooling(const std::string& folder) {
  const auto config_of = [&](const std::string& part) {
    return folder + (part.empty() ? "" : "/") + part + "/config.json";
  };
  const std::string path = folder + "/modules.json";
  if (!ashlar::detail::can_open(path)) {
    const std::string usual = config_of("1_Pooling");
    if (!ashlar::detail::can_open(usual)) return std::nullopt;
    return read_pooling(ConfigReader(usual));
  }
  const MappedFile file(path);
  const Json modules = Json::parse(ashlar::detail::as_text(file.bytes()), path);
  std::optional<SentencePooling> found;
  for (const Json& module : modules.items(path)) {
    const std::string type = module.at("type", path).as_string(path + ": type");
    const std::string name = type.substr(type.rfind('.') + 1);
    if (name == "Pooling" && !found)
      found =
          read_pooling(ConfigReader(config_of(module.at("path", path).as_string(path + ": path"))));
    else if (name != "Transformer" && name != "Normalize")
      fail<ValueError>(path, ": type is \"", type,
                       "\", supported: a Transformer, one Pooling, Normalize");
  }
  return found;
}

}  // namespace ashlar::examples
