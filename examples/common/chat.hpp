// The ChatML prompt of SmolLM2.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tokenizer.hpp"

namespace ashlar::examples {

struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

inline constexpr const char* smollm2_system_line =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

/// The id of a control token. Throws: ValueError if the vocabulary has none of this text.
inline std::int32_t control_token(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  if (ids.size() != 1)
    fail<ValueError>("the vocabulary has no token ", text,
                     ", expected a model made for ChatML conversations");
  return ids[0];
}

/// Tokens of the conversation so far and of the opening of the assistant's answer. Each message is
/// <|im_start|>role, its content and <|im_end|>, each with a line end. Without a system message at
/// the front, the line that SmolLM2 was trained with is put there.
///
/// Only the frame holds control tokens: whatever a message says, it cannot end itself.
///
/// Source: the chat template in the SmolLM2 model file.
inline std::vector<std::int32_t> chatml_tokens(const Tokenizer& tokenizer,
                                               std::span<const ChatMessage> messages) {
  const std::int32_t start = control_token(tokenizer, "<|im_start|>");
  const std::int32_t end = control_token(tokenizer, "<|im_end|>");
  std::vector<std::int32_t> tokens;
  const auto add_text = [&](const std::string& text) {
    const auto ids = tokenizer.encode(text, {.parse_special = false});
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  };
  const auto add_message = [&](const ChatMessage& message) {
    tokens.push_back(start);
    add_text(message.role + "\n" + message.content);
    tokens.push_back(end);
    add_text("\n");
  };
  if (messages.empty() || messages[0].role != "system")
    add_message({"system", smollm2_system_line});
  for (const ChatMessage& message : messages) add_message(message);
  tokens.push_back(start);
  add_text("assistant\n");
  return tokens;
}

}  // namespace ashlar::examples
