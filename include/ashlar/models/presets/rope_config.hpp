// The rotary rule in config.json, in the older published form and in the newer one.
#pragma once

#include <ashlar/models/config_reader.hpp>
#include <ashlar/ops/rope_scaling.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Reads rope_parameters {rope_type, rope_theta, ..}, or rope_theta beside rope_scaling {type or
/// rope_type, ..}. Throws ValueError for a type that is not supported, an odd width and numbers
/// that are not above 0.
inline RopeRule read_rope_rule(const ConfigReader& config, index_t width, double default_theta) {
  const auto newer = config.object("rope_parameters"), older = config.object("rope_scaling");
  if (width % 2 != 0)
    fail<ValueError>(config.path(), ": rotary positions of ", width,
                     " elements of a head, expected an even number");
  RopeRule rule{.theta = config.positive("rope_theta", default_theta), .width = width};
  if (newer) rule.theta = newer->positive("rope_theta", rule.theta);
  const ConfigReader* c = newer ? &*newer : older ? &*older : nullptr;
  if (c == nullptr) return rule;

  const std::string_view key = c->has("rope_type") ? "rope_type" : "type";
  const std::string type = c->string(key, "default");
  const auto trained = [&] {
    for (const ConfigReader* reader : {c, &config})
      if (reader->has("original_max_position_embeddings"))
        return reader->positive("original_max_position_embeddings");
    return config.positive("max_position_embeddings");
  };
  if (type == "default") return rule;
  if (type == "linear") {
    rule.scaling = rope_scaling::Linear{c->positive("factor")};
  } else if (type == "dynamic") {
    rule.scaling =
        rope_scaling::Dynamic{c->positive("factor"), config.positive("max_position_embeddings")};
  } else if (type == "llama3") {
    const double original = trained();
    const double low = c->positive("low_freq_factor"), high = c->positive("high_freq_factor");
    if (!(low < high))
      fail<ValueError>(c->what("low_freq_factor"), " is ", low,
                       ", expected below high_freq_factor ", high);
    rule.scaling = rope_scaling::Llama3{c->positive("factor"), original, low, high};
  } else if (type == "yarn") {
    rope_scaling::Yarn yarn{.factor = c->positive("factor"), .original = trained()};
    yarn.beta_fast = c->positive("beta_fast", yarn.beta_fast);
    yarn.beta_slow = c->positive("beta_slow", yarn.beta_slow);
    yarn.truncate = c->boolean("truncate", true);
    yarn.magnitude = rope_scaling::Yarn::usual_magnitude(yarn.factor);
    const double mscale = c->number("mscale", 0), all_dim = c->number("mscale_all_dim", 0);
    if (mscale != 0 && all_dim != 0)  // 0 counts as absent
      yarn.magnitude = rope_scaling::Yarn::usual_magnitude(yarn.factor, mscale) /
                       rope_scaling::Yarn::usual_magnitude(yarn.factor, all_dim);
    yarn.magnitude = c->positive("attention_factor", yarn.magnitude);
    rule.scaling = yarn;
  } else {
    c->refuse(key, type, "default, linear, dynamic, llama3, yarn");
  }
  const RopeFrequencies frequencies = rule.frequencies(1);
  for (const double f : frequencies.inverse)
    if (!std::isfinite(f))
      fail<ValueError>(config.path(), ": the rotary scaling gives a frequency of ", f);
  return rule;
}

}  // namespace ashlar::inline ASHLAR_ABI
