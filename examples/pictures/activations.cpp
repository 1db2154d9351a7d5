#include <ashlar/ops/activation.hpp>

#include "pictures.hpp"

namespace ashlar::examples {
namespace {

std::vector<double> range(double low, double high, index_t steps) {
  std::vector<double> x;
  for (index_t i = 0; i <= steps; ++i)
    x.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(steps));
  return x;
}
template <Activation Act>
std::vector<double> values(const std::vector<double>& x) {
  std::vector<double> y(x.size());
  const auto n = static_cast<index_t>(x.size());
  Context<backend::ScalarCpu> ctx;
  activation<Act>(ctx, MatrixView<const double>(x.data(), {1, n}),
                  MatrixView<double>(y.data(), {1, n}));
  return y;
}
template <Activation Act>
std::vector<double> gated(const std::vector<double>& gate, const std::vector<double>& up) {
  std::vector<double> y(gate.size());
  const auto n = static_cast<index_t>(gate.size());
  Context<backend::ScalarCpu> ctx;
  glu<Act>(ctx, MatrixView<const double>(gate.data(), {1, n}),
           MatrixView<const double>(up.data(), {1, n}), MatrixView<double>(y.data(), {1, n}));
  return y;
}
void write_columns(const std::string& path, const std::string& header,
                   const std::vector<std::vector<double>>& columns) {
  Csv csv(path, header);
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    std::vector<double> row;
    for (const auto& column : columns) row.push_back(column[i]);
    csv.row(row);
  }
  csv.finish();
}

}  // namespace

void write_activations(const std::string& folder) {
  const auto x = range(-4, 4, 320);
  write_columns(folder + "/activations.csv",
                "x,relu,relu_squared,silu,gelu,gelu_tanh,gelu_quick,sigmoid",
                {x, values<act::Relu>(x), values<act::ReluSquared>(x), values<act::Silu>(x),
                 values<act::Gelu>(x), values<act::GeluTanh>(x), values<act::GeluQuick>(x),
                 values<act::Sigmoid>(x)});

  std::vector<double> gate, up;
  for (const double u : range(-3, 3, 60))
    for (const double g : range(-3, 3, 60)) {
      gate.push_back(g);
      up.push_back(u);
    }
  write_columns(folder + "/gated.csv", "gate,up,sigmoid,relu,gelu,silu",
                {gate, up, gated<act::Sigmoid>(gate, up), gated<act::Relu>(gate, up),
                 gated<act::Gelu>(gate, up), gated<act::Silu>(gate, up)});
}

}  // namespace ashlar::examples
