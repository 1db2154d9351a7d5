// describe: a spec's choices as text, for tables of models.
#pragma once

#include <ashlar/models/spec_parts.hpp>
#include <ashlar/nn/mixer/attention.hpp>
#include <string>
#include <string_view>

namespace ashlar::inline ASHLAR_ABI {

/// The name of a type without namespaces: "RmsNorm", "PerHeadNorm<RmsNorm>".
template <class T>
std::string type_name() {
#if defined(__clang__) || defined(__GNUC__)
  std::string_view text = __PRETTY_FUNCTION__;  // .. [with T = NAME; ..] or .. [T = NAME]
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find(';') == text.npos ? text.rfind(']') : text.find(';'));
#else
  std::string_view text = typeid(T).name();
#endif
  std::string name, word;
  for (const char c : text) {
    if (c == ':') {  // what came before was a namespace
      word.clear();
    } else if (c == ' ' && word.empty() && name.ends_with('>')) {
      continue;  // "> >"
    } else if (c == '<' || c == '>' || c == ',' || c == ' ') {
      name += word + c;
      word.clear();
    } else {
      word += c;
    }
  }
  return name + word;
}

/// One word or two for each kind of policy.
struct SpecDescription {
  std::string wiring, norm, mixer, position, qk_norm, mask, score, ffn, residual, further;
};

namespace detail {
/// What a mixer is made of; one that is not Attention is just its name.
template <class Mixer>
struct DescribeMixer {
  static void add(SpecDescription& d) { d.mixer = type_name<Mixer>(); }
};
template <class Position, class QkNorm, class Mask, class Score, class Cache, class ValueNorm>
struct DescribeMixer<Attention<Position, QkNorm, Mask, Score, Cache, ValueNorm>> {
  static void add(SpecDescription& d) {
    d.mixer = "Attention";
    d.position = std::is_same_v<Position, NoPosition> ? "" : type_name<Position>();
    d.qk_norm = std::is_same_v<QkNorm, NoQkNorm> ? "" : type_name<QkNorm>();
    d.mask = type_name<Mask>();
    d.score = std::is_same_v<Score, NoScore> ? "" : type_name<Score>();
    if constexpr (!std::is_same_v<ValueNorm, NoNorm>)
      d.further += ", value norm " + type_name<ValueNorm>();
  }
};
}  // namespace detail

/// The choices of a model's spec. Empty text stands for none.
template <class Spec>
SpecDescription describe() {
  SpecDescription d;
  d.wiring = type_name<typename Spec::Wiring>();
  d.norm = type_name<typename Spec::Norm>();
  d.ffn = type_name<typename Spec::Ffn>();
  d.residual = type_name<typename Spec::Residual>();
  detail::DescribeMixer<typename Spec::Mixer>::add(d);
  if constexpr (requires { typename Spec::InputPosition; })
    if constexpr (!std::is_same_v<typename Spec::InputPosition, NoPosition>)
      d.position += (d.position.empty() ? "" : ", ") + type_name<typename Spec::InputPosition>();
  const auto further = [&](std::string_view what, const std::string& name) {
    d.further += ", " + std::string(what) + name;
  };
  if constexpr (!std::is_same_v<EmbeddingNormOf<Spec>, NoNorm>)
    further("embedding norm ", type_name<EmbeddingNormOf<Spec>>());
  if constexpr (!std::is_same_v<FinalNormOf<Spec>, typename Spec::Norm>)
    further("final norm ", type_name<FinalNormOf<Spec>>());
  if constexpr (!std::is_same_v<EpilogueOf<Spec>, NoEpilogue>)
    further("", type_name<EpilogueOf<Spec>>());
  if constexpr (!std::is_same_v<SideInputOf<Spec>, NoSideInput>)
    further("", type_name<SideInputOf<Spec>>());
  if (!d.further.empty()) d.further.erase(0, 2);
  return d;
}

}  // namespace ashlar::inline ASHLAR_ABI
