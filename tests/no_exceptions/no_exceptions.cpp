// A shape error reaches the handler that the user set, with the words the exception would have.
#include <ashlar/ashlar.hpp>
#if __has_include(<xsimd/xsimd.hpp>)
#  include <ashlar/simd.hpp>
#endif
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main() {
  ashlar::set_error_handler([](const char* message) {
    std::puts(message);
    const bool named =
        std::strstr(message, "rms_norm") && std::strstr(message, "3") && std::strstr(message, "4");
    std::_Exit(named ? 0 : 1);
  });
  const float x[4] = {}, gain[3] = {};
  float y[4];
  ashlar::Context<ashlar::backend::ScalarCpu> ctx;
  ashlar::rms_norm(ctx, ashlar::MatrixView<const float>(x, {1, 4}),
                   ashlar::VectorView<const float>(gain, {3}), ashlar::MatrixView<float>(y, {1, 4}),
                   1e-5f);
  std::puts("no error was raised");
  return 1;
}
