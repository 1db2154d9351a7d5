#include <cmath>
#include <cstdio>

float sse2(const float* x, int n);
float avx2(const float* x, int n);

int main() {
  float x[35];
  double sum = 0;
  for (int i = 0; i < 35; ++i) {
    x[i] = static_cast<float>(i - 17);
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const double expected = 17 / std::sqrt(sum / 35);
  const double a = static_cast<double>(sse2(x, 35)), b = static_cast<double>(avx2(x, 35));
  std::printf("%.9g %.9g, expected %.9g\n", a, b, expected);
  return std::fabs(a - expected) < 1e-6 && std::fabs(b - expected) < 1e-6 ? 0 : 1;
}
