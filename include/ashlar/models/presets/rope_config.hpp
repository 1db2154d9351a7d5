// The rotary rule in config.json, in the older published form and in the newer one.
#pragma once

#include <ashlar/models/config_reader.hpp>
#include <ashlar/ops/rope_scaling.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What a family says where config.json is silent, and which of several rules is meant.
struct RopeKeys {
  double theta = 10000.0;
  double partial = 1.0;              // share of a head that turns
  std::string_view layer_type = {};  // one of several objects in rope_parameters
  std::string_view theta_key = "rope_theta";
  std::string_view partial_key = "partial_rotary_factor";
  bool scaled = true;  // the older form's rope_scaling is for these layers
};

namespace detail {

/// Reads the scaling of a rule from the object `c` of the configuration `config`.
class RopeScalingReader {
 public:
  RopeScalingReader(const ConfigReader& config, const ConfigReader& c, index_t head_dim)
      : config_(config), c_(c), head_dim_(head_dim) {}

  void read(RopeRule& rule) const {
    const std::string_view key = c_.has("rope_type") ? "rope_type" : "type";
    const std::string type = c_.string(key, "default");
    if (type == "default" || type == "mrope") {
      if (c_.has("mrope_section")) rule.scaling = sections();
    } else if (type == "linear") {
      rule.scaling = rope_scaling::Linear{c_.positive("factor")};
    } else if (type == "dynamic") {
      rule.scaling =
          rope_scaling::Dynamic{c_.positive("factor"), config_.positive("max_position_embeddings")};
    } else if (type == "llama3") {
      rule.scaling = llama3();
    } else if (type == "yarn") {
      rule.scaling = yarn();
    } else if (type == "longrope" || type == "su") {
      rule.scaling = longrope(rule.width / 2);
    } else if (type == "proportional") {
      // The share is of angles over the whole head, not of a narrower one.
      const double share = static_cast<double>(rule.width) / static_cast<double>(head_dim_);
      const double asked = c_.number("partial_rotary_factor", share);
      rule.width = head_dim_;
      rule.scaling = rope_scaling::Proportional{
          static_cast<index_t>(asked * static_cast<double>(head_dim_)) / 2,
          c_.positive("factor", 1)};
    } else {
      c_.refuse(key, type, "default, linear, dynamic, llama3, yarn, longrope, proportional");
    }
  }

 private:
  /// The context before it was stretched.
  double trained() const {
    for (const ConfigReader* reader : {&config_, &c_})
      if (reader->has("original_max_position_embeddings"))
        return reader->positive("original_max_position_embeddings");
    return config_.positive("max_position_embeddings");
  }
  rope_scaling::Llama3 llama3() const {
    const double original = trained();
    const double low = c_.positive("low_freq_factor"), high = c_.positive("high_freq_factor");
    if (!(low < high))
      fail<ValueError>(c_.what("low_freq_factor"), " is ", low,
                       ", expected below high_freq_factor ", high);
    return {c_.positive("factor"), original, low, high};
  }
  rope_scaling::Yarn yarn() const {
    rope_scaling::Yarn yarn{.factor = c_.positive("factor"), .original = trained()};
    yarn.beta_fast = c_.positive("beta_fast", yarn.beta_fast);
    yarn.beta_slow = c_.positive("beta_slow", yarn.beta_slow);
    yarn.truncate = c_.boolean("truncate", true);
    yarn.magnitude = rope_scaling::Yarn::usual_magnitude(yarn.factor);
    const double mscale = c_.number("mscale", 0), all_dim = c_.number("mscale_all_dim", 0);
    if (mscale != 0 && all_dim != 0)  // 0 counts as absent
      yarn.magnitude = rope_scaling::Yarn::usual_magnitude(yarn.factor, mscale) /
                       rope_scaling::Yarn::usual_magnitude(yarn.factor, all_dim);
    yarn.magnitude = c_.positive("attention_factor", yarn.magnitude);
    return yarn;
  }
  rope_scaling::LongRope longrope(index_t pairs) const {
    const double original = trained();
    const double longest = config_.positive("max_position_embeddings", original);
    const double stretched = c_.has("factor") ? original * c_.positive("factor") : longest;
    rope_scaling::LongRope rule{
        c_.numbers("short_factor"), c_.numbers("long_factor"), original,
        c_.positive("attention_factor",
                    rope_scaling::LongRope::usual_magnitude(original, stretched))};
    const auto check = [&](std::string_view key, const std::vector<double>& factors) {
      if (static_cast<index_t>(factors.size()) != pairs)
        fail<ValueError>(c_.what(key), " has ", factors.size(), " numbers, expected ", pairs,
                         ", one a rotated pair");
      for (const double f : factors)
        if (!(f > 0) || !std::isfinite(f))
          fail<ValueError>(c_.what(key), " holds ", f, ", expected finite numbers above 0");
    };
    check("short_factor", rule.short_factors);
    check("long_factor", rule.long_factors);
    return rule;
  }
  rope_scaling::Sections sections() const {
    rope_scaling::Sections rule;
    for (const double n : c_.numbers("mrope_section"))
      rule.sections.push_back(static_cast<index_t>(n));
    return rule;
  }

  const ConfigReader &config_, &c_;
  index_t head_dim_;
};

}  // namespace detail

/// Reads rope_parameters {rope_type, rope_theta, ..}, one for all layers or one a layer type, or
/// rope_theta beside rope_scaling {type or rope_type, ..}. Throws ValueError for a type that is not
/// supported, an odd width and numbers that are not above 0.
inline RopeRule read_rope_rule(const ConfigReader& config, index_t head_dim,
                               const RopeKeys& keys = {}) {
  auto newer = config.object("rope_parameters");
  if (newer && !keys.layer_type.empty())
    if (auto own = newer->object(keys.layer_type)) newer = std::move(own);
  const auto older = keys.scaled ? config.object("rope_scaling") : std::nullopt;
  const ConfigReader* c = older ? &*older : newer ? &*newer : nullptr;

  RopeRule rule{.theta = config.positive(keys.theta_key, keys.theta)};
  double share = config.positive(keys.partial_key, keys.partial);
  if (c) {
    rule.theta = c->positive("rope_theta", rule.theta);
    share = c->positive("partial_rotary_factor", share);
  }
  if (share > 1)
    fail<ValueError>(config.path(), ": ", keys.partial_key, " is ", share, ", expected at most 1");
  rule.width = static_cast<index_t>(static_cast<double>(head_dim) * share);
  if (c) detail::RopeScalingReader(config, *c, head_dim).read(rule);
  if (rule.width % 2 != 0)
    fail<ValueError>(config.path(), ": rotary positions of ", rule.width,
                     " elements of a head, expected an even number");
  const RopeFrequencies frequencies = rule.frequencies(1);
  for (const double f : frequencies.inverse)
    if (!std::isfinite(f))
      fail<ValueError>(config.path(), ": the rotary scaling gives a frequency of ", f);
  return rule;
}

}  // namespace ashlar::inline ASHLAR_ABI
