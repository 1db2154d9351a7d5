// The WordPiece tokenizer of a Hugging Face folder.
#pragma once

#include <algorithm>
#include <ashlar/weights/json.hpp>
#include <ashlar/weights/mapped_file.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "word_piece.hpp"

namespace ashlar::examples {

namespace detail {

/// Refuses what WordPiece does not do.
inline void expect_json(const Json& object, std::string_view key, std::string_view expected,
                        const std::string& what) {
  const Json* value = object.find(key, what);
  if (!value) return;
  const std::string name = join(what, ".", key);
  const std::string got = value->is_string() ? value->as_string()
                          : value->is_bool() ? (value->as_bool() ? "true" : "false")
                                             : std::string(value->kind());
  if (got != expected) fail<FileError>(name, " is ", got, ", expected ", expected);
}

inline bool read_uncased(const Json& normalizer, const std::string& what) {
  expect_json(normalizer, "type", "BertNormalizer", what);
  expect_json(normalizer, "clean_text", "true", what);
  expect_json(normalizer, "handle_chinese_chars", "true", what);
  const bool lower = normalizer.at("lowercase", what).as_bool(what + ".lowercase");
  const Json* strip = normalizer.find("strip_accents", what);  // null: as lowercase says
  if (strip && !strip->is_null()) {
    expect_json(normalizer, "strip_accents", lower ? "true" : "false", what);
  }
  return lower;
}

}  // namespace detail

/// Reads the text of a tokenizer.json; `what` names it in messages.
/// Throws: FileError for a tokenizer of another kind, a setting that is not supported and ids that
/// are not 0, 1, 2, ...
inline WordPieceVocabulary parse_word_piece_json(std::string_view text, const std::string& what) {
  const Json file = Json::parse(text, what);
  const std::string model_name = what + ": model";
  const Json& model = file.at("model", what);
  detail::expect_json(model, "type", "WordPiece", model_name);
  detail::expect_json(model, "unk_token", "[UNK]", model_name);
  detail::expect_json(model, "continuing_subword_prefix", "##", model_name);
  WordPieceVocabulary vocabulary;
  if (const Json* most = model.find("max_input_chars_per_word")) {
    const std::int64_t value = most->as_int(model_name + ".max_input_chars_per_word");
    if (value < 1)
      fail<FileError>(model_name, ".max_input_chars_per_word is ", value, ", expected at least 1");
    vocabulary.longest_word = static_cast<std::size_t>(value);
  }
  vocabulary.uncased = detail::read_uncased(file.at("normalizer", what), what + ": normalizer");
  detail::expect_json(file.at("pre_tokenizer", what), "type", "BertPreTokenizer",
                      what + ": pre_tokenizer");

  const auto& members = model.at("vocab", model_name).members(model_name + ".vocab");
  vocabulary.tokens.resize(members.size());
  std::vector<bool> seen(members.size());
  for (const Json::Member& member : members) {
    const std::int64_t id = member.value.as_int(what + ": id of \"" + member.name + "\"");
    const auto place = static_cast<std::size_t>(id);
    if (id < 0 || place >= seen.size() || seen[place])
      fail<FileError>(what, ": id of \"", member.name, "\" is ", id, ", expected each of 0 to ",
                      seen.size() - 1, " once");
    seen[place] = true;
    vocabulary.tokens[place] = member.name;
  }
  return vocabulary;
}

/// Reads the text of a vocab.txt: the token of each id, a line each.
inline WordPieceVocabulary parse_word_piece_lines(std::string_view text) {
  WordPieceVocabulary vocabulary;
  while (!text.empty()) {
    const std::size_t end = (std::min)(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    vocabulary.tokens.emplace_back(line);
    text.remove_prefix((std::min)(end + 1, text.size()));
  }
  return vocabulary;
}

/// The tokenizer of a folder: tokenizer.json, or else vocab.txt and what tokenizer_config.json says
/// about case.
/// Throws: FileError if neither can be opened and as parse_word_piece_json(); ValueError as
/// WordPiece().
inline WordPiece read_word_piece(const std::string& folder) {
  const auto text = [](const MappedFile& file) { return ashlar::detail::as_text(file.bytes()); };
  if (const std::string path = folder + "/tokenizer.json"; ashlar::detail::can_open(path)) {
    const MappedFile file(path);
    return WordPiece(parse_word_piece_json(text(file), path));
  }
  const MappedFile file(folder + "/vocab.txt");
  WordPieceVocabulary vocabulary = parse_word_piece_lines(text(file));
  if (const std::string path = folder + "/tokenizer_config.json"; ashlar::detail::can_open(path)) {
    const MappedFile config_file(path);
    const Json config = Json::parse(text(config_file), path);
    if (const Json* lower = config.find("do_lower_case", path)) {
      vocabulary.uncased = lower->as_bool(path + ": do_lower_case");
    }
  }
  return WordPiece(vocabulary);
}

}  // namespace ashlar::examples
