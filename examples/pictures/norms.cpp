#include <ashlar/ops/layer_norm.hpp>
#include <ashlar/ops/rms_norm.hpp>
#include <random>

#include "pictures.hpp"

namespace ashlar::examples {

void write_norms(const std::string& folder) {
  constexpr index_t points = 300;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.6f, 1.2f);  // not centred: LayerNorm takes the mean away
  std::vector<float> x(3 * points), rms(x.size()), layer(x.size());
  for (float& v : x) v = normal(random);
  const std::vector<float> ones(3, 1.f), zeros(3, 0.f);

  Context<backend::ScalarCpu> ctx;
  const VectorView<const float> gain(ones.data(), {3}), bias(zeros.data(), {3});
  const MatrixView<const float> in(x.data(), {points, 3});
  rms_norm(ctx, in, gain, MatrixView<float>(rms.data(), {points, 3}), 1e-6f);
  layer_norm(ctx, in, gain, bias, MatrixView<float>(layer.data(), {points, 3}), 1e-6f);

  Csv csv(folder + "/norms.csv", "x,y,z,rms_x,rms_y,rms_z,layer_x,layer_y,layer_z");
  for (std::size_t i = 0; i < x.size(); i += 3)
    csv.row({x[i], x[i + 1], x[i + 2], rms[i], rms[i + 1], rms[i + 2], layer[i], layer[i + 1],
             layer[i + 2]});
  csv.finish();
}

}  // namespace ashlar::examples
