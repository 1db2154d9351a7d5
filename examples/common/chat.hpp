// The ChatML prompt of SmolLM2.
#pragma once

#include <span>
#include <string>

namespace ashlar::examples {

struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

inline constexpr const char* smollm2_system_line =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

/// One message: <|im_start|>role, its content and <|im_end|>, each with a line end.
inline std::string chatml_message(const ChatMessage& message) {
  return "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n";
}

/// The conversation so far and the opening of the assistant's answer. Without a system message at
/// the front, the line that SmolLM2 was trained with is put there.
///
/// Source: the chat template in the SmolLM2 model file.
inline std::string chatml_prompt(std::span<const ChatMessage> messages) {
  std::string prompt;
  if (messages.empty() || messages[0].role != "system") {
    prompt = chatml_message({"system", smollm2_system_line});
  }
  for (const ChatMessage& message : messages) prompt += chatml_message(message);
  return prompt + "<|im_start|>assistant\n";
}

}  // namespace ashlar::examples
