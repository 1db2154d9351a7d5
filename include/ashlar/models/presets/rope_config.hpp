// The rotary rule in config.json, in the older published form and in the newer one.
#pragma once

#include <ashlar/models/config_reader.hpp>
#include <ashlar/ops/rope_scaling.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What a family says where config.json is silent, and which of several rules is meant.
struct RopeKeys {
  double theta = 10000.0;
  // Share of a head that turns where no key says one; without it the family's heads turn as a
  // whole, whatever partial_rotary_factor says.
  std::optional<double> partial = {};
  bool rounds_up = false;      // an odd number of elements turns with the one after it
  index_t positions = -1;      // max_position_embeddings; -1: an error where it is needed
  index_t trained = -1;        // original_max_position_embeddings; -1: it follows from the others
  bool longrope_only = false;  // and the family has called it su and yarn too
  std::string_view layer_type = {};  // one of several objects in rope_parameters
  std::string_view theta_key = "rope_theta";
  std::string_view partial_key = "partial_rotary_factor";
  bool scaled = true;  // the older form's rope_scaling is for these layers
};

namespace detail {

/// Reads the scaling of a rule from the object `c` of the configuration `config`.
class RopeScalingReader {
 public:
  RopeScalingReader(const ConfigReader& config, const ConfigReader& c, const RopeKeys& keys)
      : config_(config), c_(c), keys_(keys) {}

  std::string_view type_key() const { return c_.has("rope_type") ? "rope_type" : "type"; }
  std::string type() const {
    const std::string got = c_.string(type_key(), "default");
    if (!keys_.longrope_only || got == "default") return got;
    if (got != "longrope" && got != "su" && got != "yarn")
      c_.refuse(type_key(), got, "default, longrope, su, yarn");
    return "longrope";
  }

  /// For a rule of this width, where `share` of the head's elements turns.
  RopeScaling scaling(index_t width, index_t head_dim, double share) const {
    const std::string type = this->type();
    if (type == "default" || type == "mrope")
      return c_.has("mrope_section") ? RopeScaling(sections()) : RopeScaling();
    if (type == "linear") return rope_scaling::Linear{c_.positive("factor")};
    if (type == "dynamic") return rope_scaling::Dynamic{c_.positive("factor"), positions()};
    if (type == "llama3") return llama3();
    if (type == "yarn") return yarn();
    if (type == "longrope" || type == "su") return longrope(width / 2);
    if (type != "proportional")
      c_.refuse(type_key(), type, "default, linear, dynamic, llama3, yarn, longrope, proportional");
    return rope_scaling::Proportional{
        static_cast<index_t>(share * static_cast<double>(head_dim)) / 2, c_.positive("factor", 1)};
  }

 private:
  double positions() const {
    constexpr std::string_view key = "max_position_embeddings";
    return keys_.positions < 0 ? config_.positive(key)
                               : config_.positive(key, static_cast<double>(keys_.positions));
  }
  /// The context before it was stretched.
  double trained() const {
    constexpr std::string_view key = "original_max_position_embeddings";
    if (keys_.trained > 0) return config_.positive(key, static_cast<double>(keys_.trained));
    for (const ConfigReader* reader : {&config_, &c_})
      if (reader->has(key)) return reader->positive(key);
    return positions();
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
    const double stretched = c_.has("factor") ? original * c_.positive("factor") : positions();
    rope_scaling::LongRope rule{
        c_.numbers("short_factor"), c_.numbers("long_factor"), original,
        c_.positive("attention_factor",
                    rope_scaling::LongRope::usual_magnitude(original, stretched))};
    const auto check = [&](std::string_view key, const SharedList<double>& factors) {
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
    return {c_.list("mrope_section",
                    [](const Json& j, const std::string& name) { return j.as_int(name); })};
  }

  const ConfigReader &config_, &c_;
  const RopeKeys& keys_;
};

}  // namespace detail

/// Reads rope_parameters {rope_type, rope_theta, ..}, one for all layers or one a layer type, or
/// rope_theta beside rope_scaling {type or rope_type, ..}. Throws ValueError for a type that is not
/// supported, for numbers that are not above 0, and for an odd width unless the family rounds it up
/// (where its scaling rule can).
inline RopeRule read_rope_rule(const ConfigReader& config, index_t head_dim,
                               const RopeKeys& keys = {}) {
  auto newer = config.object("rope_parameters");
  if (newer && !keys.layer_type.empty())
    if (auto own = newer->object(keys.layer_type)) newer = std::move(own);
  auto older = keys.scaled ? config.object("rope_scaling") : std::nullopt;
  if (older && older->empty()) older.reset();  // says as little as null
  const ConfigReader& c = older ? *older : newer ? *newer : config;
  const bool scaled = older || newer;

  RopeRule rule{.theta = config.positive(keys.theta_key, keys.theta)};
  if (scaled) rule.theta = c.positive("rope_theta", rule.theta);
  const bool inside = scaled && c.has("partial_rotary_factor");
  const std::string_view share_key = inside ? "partial_rotary_factor" : keys.partial_key;
  const std::string share_name = (inside ? c : config).what(share_key);
  const double share = (inside ? c : config).positive(share_key, keys.partial.value_or(1.0));
  if (share > 1) fail<ValueError>(share_name, " is ", share, ", expected at most 1");

  const detail::RopeScalingReader reader(config, c, keys);
  const std::string type = scaled ? reader.type() : "default";
  rule.width = static_cast<index_t>(static_cast<double>(head_dim) * share);
  if (!keys.partial && type == "default") rule.width = head_dim;
  if (!keys.partial && type != "proportional" && rule.width != head_dim)
    fail<ValueError>(share_name, " is ", share, ", supported: 1, with ", reader.type_key(), " ",
                     type, " in this family");
  const bool whole_pairs = type == "yarn" || type == "longrope" || type == "su";
  if (keys.rounds_up && !whole_pairs && rule.width % 2 != 0 && rule.width < head_dim)
    rule.shares = rule.width++;
  if (scaled) rule.scaling = reader.scaling(rule.width, head_dim, share);
  if (type == "proportional") rule.width = head_dim;  // the share is of angles over the whole head
  if (rule.width % 2 != 0)
    fail<ValueError>(share_name, " is ", share, ": rotary positions of ", rule.width,
                     " elements of a head of ", head_dim, ", expected an even number");
  const RopeFrequencies frequencies = rule.frequencies(1);
  for (const double f : frequencies.inverse)
    if (!std::isfinite(f))
      fail<ValueError>(config.path(), ": the rotary scaling gives a frequency of ", f);
  return rule;
}

}  // namespace ashlar::inline ASHLAR_ABI
