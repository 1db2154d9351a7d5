#include <ashlar/ashlar.hpp>
#include <ashlar/models/presets/llama.hpp>
#include <ashlar/simd.hpp>
#include <map>

#include "common/gguf_tokenizer.hpp"
#include "pictures.hpp"

namespace ashlar::examples {
namespace {

using Lm = LlamaFamily::Lm;
using Context = ashlar::Context<backend::SimdCpu>;

const char* const text =
    "The quick stone mason cut a block. The quick stone mason cut a block and set it on the wall.";
constexpr index_t window = 8;

/// Queries and keys of one layer, rotated.
struct LayerHeads {
  index_t tokens, heads, key_heads, head_dim;
  std::vector<float> q, k;  // [T, N, H], [T, K, H]
};

LayerHeads heads_of(Context& ctx, const Lm::Block::Config& c, const Lm::Block::Weights& w,
                    MatrixView<const float> x) {
  const Dims& d = c.dims;
  const index_t T = x.extent(0);
  LayerHeads r{T, d.n_heads, d.n_kv_heads, d.head_dim, {}, {}};
  std::vector<float> normed(static_cast<std::size_t>(x.size()));
  const MatrixView<float> h(normed.data(), {T, d.d_model});
  RmsNorm::apply(ctx, c.norm, w.wiring.mixer.pre, x, h);
  const TokenBatch batch(1, T);
  const auto project = [&](const WeightMatrix& matrix, index_t heads, std::vector<float>& out) {
    out.resize(static_cast<std::size_t>(T * heads * d.head_dim));
    const MatrixView<float> y(out.data(), {T, heads * d.head_dim});
    linear(ctx, MatrixView<const float>(h), matrix, {}, y);
    Rope::apply(ctx, c.mixer.position, batch, split_heads(y, heads));
  };
  project(w.mixer.q, d.n_heads, r.q);
  project(w.mixer.k, d.n_kv_heads, r.k);
  return r;
}

/// The probabilities themselves, [T, N, T]: attention to values that are the unit vectors.
template <class Mask, class Score>
std::vector<float> probabilities(Context& ctx, const LayerHeads& a, Mask mask, Score score) {
  const index_t T = a.tokens;
  std::vector<float> unit(static_cast<std::size_t>(T * a.key_heads * T)),
      p(static_cast<std::size_t>(T * a.heads * T));
  for (index_t t = 0; t < T; ++t)
    for (index_t k = 0; k < a.key_heads; ++k)
      unit[static_cast<std::size_t>((t * a.key_heads + k) * T + t)] = 1;
  attention(ctx, TensorView<const float, 4>(a.q.data(), {1, T, a.heads, a.head_dim}),
            TensorView<const float, 4>(a.k.data(), {1, T, a.key_heads, a.head_dim}),
            TensorView<const float, 4>(unit.data(), {1, T, a.key_heads, T}),
            TensorView<float, 4>(p.data(), {1, T, a.heads, T}),
            AttentionOptions<Mask, Score>{.mask = mask, .score = score});
  return p;
}

double mean(const std::vector<float>& p, index_t heads, index_t head, index_t tokens,
            const std::map<index_t, index_t>& pairs) {
  double sum = 0;
  for (const auto& [q, k] : pairs)
    sum += static_cast<double>(p[static_cast<std::size_t>((q * heads + head) * tokens + k)]);
  return sum / static_cast<double>(pairs.size());
}

/// What a kind of head looks at, query by query.
struct Kind {
  std::string name;
  std::map<index_t, index_t> pairs;
  double best = -1;
  index_t layer = 0, head = 0;
};
std::vector<Kind> kinds(const std::vector<std::int32_t>& ids) {
  Kind previous{"previous token", {}}, first{"first token", {}}, itself{"itself", {}},
      induction{"what followed last time", {}};
  for (index_t q = 2; q < static_cast<index_t>(ids.size()); ++q) {
    previous.pairs[q] = q - 1;
    first.pairs[q] = 0;
    itself.pairs[q] = q;
    for (index_t k = 1; k < q; ++k)
      if (ids[static_cast<std::size_t>(k - 1)] == ids[static_cast<std::size_t>(q)])
        induction.pairs[q] = k;
  }
  return {previous, induction, first, itself};
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s)
    out += c == '"' || c == '\\' ? join("\\", std::string(1, c)) : std::string(1, c);
  return out + "\"";
}

class Json {
 public:
  void matrix(const std::vector<float>& p, index_t tokens, index_t heads, index_t head) {
    text += "[";
    for (index_t q = 0; q < tokens; ++q) {
      text += q ? ",\n[" : "[";
      for (index_t k = 0; k < tokens; ++k) {
        char number[24];
        std::snprintf(
            number, sizeof number, "%s%.4g", k ? "," : "",
            static_cast<double>(p[static_cast<std::size_t>((q * heads + head) * tokens + k)]));
        text += number;
      }
      text += "]";
    }
    text += "]";
  }
  std::string text;
};

}  // namespace

void write_attention(const std::string& folder, const std::string& path) {
  const Checkpoint checkpoint(path);
  if (!checkpoint.gguf()) fail<ValueError>(path, ": expected a .gguf file");
  const auto tokenizer = read_tokenizer(*checkpoint.gguf());
  const auto model = load_model<LlamaFamily>(checkpoint);
  const auto ids = tokenizer->encode(text);
  const auto T = static_cast<index_t>(ids.size());

  Context ctx;
  std::vector<LayerHeads> layers;
  Lm::State state(model.config, 1, T);
  std::vector<float> hidden(static_cast<std::size_t>(T * model.config.d_model));
  Lm::forward(ctx, model.config, model.weights, state,
              MatrixView<const std::int32_t>(ids.data(), {1, T}),
              MatrixView<float>(hidden.data(), {T, model.config.d_model}),
              [&](index_t layer, MatrixView<const float> x) {
                const auto l = static_cast<std::size_t>(layer);
                layers.push_back(heads_of(ctx, model.config.layers[l], model.weights.layers[l], x));
              });

  std::vector<Kind> found = kinds(ids);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerHeads& a = layers[l];
    const auto p = probabilities(ctx, a, CausalMask{}, NoScore{});
    for (index_t n = 0; n < a.heads; ++n)
      for (Kind& kind : found)
        if (const double m = mean(p, a.heads, n, T, kind.pairs); m > kind.best) {
          kind.best = m;
          kind.layer = static_cast<index_t>(l);
          kind.head = n;
        }
  }

  // The steepest of eight heads, for every head: a head's own would differ for no reason of its.
  const std::vector<float> slopes(static_cast<std::size_t>(model.config.layers[0].dims.n_heads),
                                  alibi_slopes(8)[0]);
  Json json;
  json.text = "{\"window\": " + std::to_string(window) + ", \"tokens\": [";
  for (std::size_t i = 0; i < ids.size(); ++i)
    json.text += (i ? "," : "") + quoted(tokenizer->piece(ids[i]));
  json.text += "], \"heads\": [";
  for (const Kind& kind : found) {
    const LayerHeads& a = layers[static_cast<std::size_t>(kind.layer)];
    json.text += join(&kind == &found[0] ? "" : ",", "\n{\"name\": ", quoted(kind.name),
                      ", \"layer\": ", kind.layer, ", \"head\": ", kind.head);
    const auto add = [&](const char* key, const std::vector<float>& p) {
      json.text += join(",\n\"", key, "\": ");
      json.matrix(p, T, a.heads, kind.head);
    };
    add("causal", probabilities(ctx, a, CausalMask{}, NoScore{}));
    add("window", probabilities(ctx, a, SlidingWindow{window}, NoScore{}));
    add("alibi", probabilities(ctx, a, CausalMask{},
                               Alibi(VectorView<const float>(slopes.data(), {a.heads}))));
    json.text += "}";
  }
  json.text += "]}\n";
  const std::string target = folder + "/attention.json";
  std::ofstream file(target);
  file << json.text;
  file.flush();
  if (!file) fail<FileError>(target, ": cannot be written");
  std::printf("%s\n", target.c_str());
}

}  // namespace ashlar::examples
