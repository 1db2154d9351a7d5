#include <ashlar/nn/block.hpp>
#include <ashlar/nn/specs.hpp>
#include <ashlar/simd.hpp>
#include <cmath>
#include <deque>
#include <random>

#include "pictures.hpp"

namespace ashlar::examples {
namespace {

template <class W, class R = PlainResidual>
struct Wired : LlamaSpec {
  using Wiring = W;
  using Residual = R;
};

constexpr index_t width = 256, tokens = 64, layers = 48;

/// Random numbers for a layer's weights: the same for every wiring.
class LayerWeights {
 public:
  explicit LayerWeights(unsigned layer) : random_(layer + 1) {}

  /// Matrices keep the variance of what they multiply; gains are 1, LayerScale begins at 1e-4.
  void operator()(std::string_view name, WeightMatrix& view, std::initializer_list<index_t> e) {
    const index_t rows = e.begin()[0], columns = e.begin()[1];
    std::vector<float>& values = numbers_.emplace_back(static_cast<std::size_t>(rows * columns));
    std::normal_distribution<float> normal(0.f, 1.f / std::sqrt(static_cast<float>(columns)));
    for (float& v : values) v = normal(random_);
    if (scaled_ && (name == "mixer.o" || name == "ffn.down"))
      for (float& v : values) v /= std::sqrt(2.f * layers);
    view = MatrixView<const float>(values.data(), {rows, columns});
  }
  void operator()(std::string_view name, VectorView<const float>& view,
                  std::initializer_list<index_t> e) {
    const float value = name.ends_with("scale") ? 1e-4f : 1.f;
    std::vector<float>& values =
        numbers_.emplace_back(static_cast<std::size_t>(e.begin()[0]), value);
    view = {values.data(), {e.begin()[0]}};
  }
  /// Branches begin smaller by the root of their number. Source: GPT-2.
  LayerWeights& scale_branches() {
    scaled_ = true;
    return *this;
  }

 private:
  std::mt19937 random_;
  std::deque<std::vector<float>> numbers_;
  bool scaled_ = false;
};

struct Stream {
  std::vector<double> size, change;  // of every layer
};

double root_mean_square(const std::vector<float>& x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

template <class Spec>
Stream follow(bool scaled_branches = false) {
  using Block = DecoderBlock<Spec>;
  typename Block::Config c;
  c.dims = {.d_model = width, .n_heads = 4, .n_kv_heads = 4, .head_dim = 64, .d_ff = 704};
  c.mixer.position.rule.width = 64;
  std::mt19937 random(0);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(tokens * width));
  for (float& v : x) v = normal(random);

  Context<backend::SimdCpu> ctx;
  Stream stream;
  for (unsigned layer = 0; layer < layers; ++layer) {
    LayerWeights numbers(layer);
    if (scaled_branches) numbers.scale_branches();
    typename Block::Weights w;
    Block::visit(w, c, numbers);
    std::vector<float> difference = x;
    const double before = root_mean_square(x);
    Block::forward(ctx, c, w, TokenBatch(1, tokens), nullptr,
                   MatrixView<float>(x.data(), {tokens, width}));
    for (std::size_t i = 0; i < x.size(); ++i) difference[i] -= x[i];
    stream.size.push_back(before);
    stream.change.push_back(root_mean_square(difference) / before);
  }
  stream.size.push_back(root_mean_square(x));
  stream.change.push_back(NAN);
  return stream;
}

}  // namespace

void write_residual(const std::string& folder) {
  const std::pair<const char*, Stream> streams[] = {
      {"pre", follow<Wired<PreNorm>>()},
      {"pre_scaled", follow<Wired<PreNorm>>(true)},
      {"branch", follow<Wired<BranchNorm>>()},
      {"sandwich", follow<Wired<SandwichNorm>>()},
      {"post", follow<Wired<PostNorm>>()},
      {"layer_scale", follow<Wired<PreNorm, LayerScale>>()}};
  std::string header = "layer";
  for (const auto& [name, stream] : streams) header += join(",", name, "_size,", name, "_change");
  Csv csv(folder + "/residual.csv", header);
  for (std::size_t l = 0; l <= layers; ++l) {
    std::vector<double> row{static_cast<double>(l)};
    for (const auto& [name, stream] : streams) {
      row.push_back(stream.size[l]);
      row.push_back(stream.change[l]);
    }
    csv.row(row);
  }
  csv.finish();
}

}  // namespace ashlar::examples
