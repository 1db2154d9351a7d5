// Strings and their ids by another tokenizer, from tests/golden/real.
#pragma once

#include <ashlar/weights/json.hpp>
#include <ashlar/weights/mapped_file.hpp>
#include <cstdint>
#include <string>
#include <vector>

struct GoldenString {
  std::string text;
  std::vector<std::int32_t> ids;
  std::string decoded;  // empty where the file has none
};

inline std::vector<GoldenString> golden_strings(const std::string& name) {
  const std::string path = ASHLAR_TEST_DATA "/real/" + name;
  const ashlar::MappedFile file(path);
  const ashlar::Json json = ashlar::Json::parse(ashlar::detail::as_text(file.bytes()), path);
  std::vector<GoldenString> strings;
  for (const ashlar::Json& item : json.items()) {
    GoldenString& next = strings.emplace_back();
    next.text = item.at("text").as_string();
    for (const ashlar::Json& id : item.at("ids").items())
      next.ids.push_back(static_cast<std::int32_t>(id.as_int()));
    if (const ashlar::Json* decoded = item.find("decoded")) next.decoded = decoded->as_string();
  }
  return strings;
}
