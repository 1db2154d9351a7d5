// The rotary rule in config.json, in the older published form and in the newer one.
#pragma once

#include <ashlar/models/config_reader.hpp>
#include <ashlar/ops/rope_scaling.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Reads rope_parameters {rope_type, rope_theta, ..}, or rope_theta beside rope_scaling {type or
/// rope_type,
/// ..}. Throws ValueError for a type that is not supported.
inline RopeRule read_rope_rule(const ConfigReader& config, index_t width, double default_theta) {
  const auto newer = config.object("rope_parameters"), older = config.object("rope_scaling");
  RopeRule rule{.theta = config.number("rope_theta", default_theta), .width = width};
  if (newer) rule.theta = newer->number("rope_theta", rule.theta);
  const ConfigReader* c = newer ? &*newer : older ? &*older : nullptr;
  if (c == nullptr) return rule;

  const std::string_view key = c->has("rope_type") ? "rope_type" : "type";
  const std::string type = c->string(key, "default");
  const auto trained = [&] {
    return c->number("original_max_position_embeddings",
                     config.number("original_max_position_embeddings",
                                   config.number("max_position_embeddings")));
  };
  if (type == "default") return rule;
  if (type == "linear") {
    rule.scaling = rope_scaling::Linear{c->number("factor")};
  } else if (type == "dynamic") {
    rule.scaling =
        rope_scaling::Dynamic{c->number("factor"), config.number("max_position_embeddings")};
  } else if (type == "llama3") {
    rule.scaling =
        rope_scaling::Llama3{c->number("factor"), trained(), c->number("low_freq_factor"),
                             c->number("high_freq_factor")};
  } else if (type == "yarn") {
    rope_scaling::Yarn yarn{.factor = c->number("factor"), .original = trained()};
    yarn.beta_fast = c->number("beta_fast", yarn.beta_fast);
    yarn.beta_slow = c->number("beta_slow", yarn.beta_slow);
    yarn.truncate = c->boolean("truncate", true);
    yarn.magnitude = rope_scaling::Yarn::usual_magnitude(yarn.factor);
    if (c->has("mscale") && c->has("mscale_all_dim"))
      yarn.magnitude =
          rope_scaling::Yarn::usual_magnitude(yarn.factor, c->number("mscale")) /
          rope_scaling::Yarn::usual_magnitude(yarn.factor, c->number("mscale_all_dim"));
    yarn.magnitude = c->number("attention_factor", yarn.magnitude);
    rule.scaling = yarn;
  } else {
    c->refuse(key, type, "default, linear, dynamic, llama3, yarn");
  }
  return rule;
}

}  // namespace ashlar::inline ASHLAR_ABI
