// Random weight matrices of every type, in panels as a model holds them.
#pragma once

#include <ashlar/weights/pack.hpp>
#include <cstring>
#include <random>

#include "report.hpp"

namespace bench {

using ashlar::DType;

constexpr DType weight_types[] = {DType::f32,  DType::f16,  DType::bf16, DType::q8_0,
                                  DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                                  DType::q4_k, DType::q5_k, DType::q6_k};
inline std::string name_of(DType type) { return std::string(ashlar::info(type).name); }

/// n elements as a file stores them: normal numbers, or random codes with small scales.
inline ashlar::Buffer<std::byte> random_elements(DType type, index_t n) {
  const ashlar::DTypeInfo i = ashlar::info(type);
  ashlar::Buffer<std::byte> bytes(n / i.elements * i.bytes);
  std::mt19937 engine(1);
  if (ashlar::is_quantized(type)) {
    for (index_t at = 0; at + 4 <= bytes.size(); at += 4) {
      const auto word = static_cast<std::uint32_t>(engine());
      std::memcpy(bytes.data() + at, &word, 4);
    }
    const index_t d = type == DType::q6_k ? 208 : 0;
    const bool with_minimum =
        type == DType::q4_1 || type == DType::q5_1 || type == DType::q4_k || type == DType::q5_k;
    std::uniform_real_distribution<float> scale(.5e-3f, 1e-3f);
    for (index_t at = 0; at < bytes.size(); at += i.bytes)
      for (index_t f = 0; f < (with_minimum ? 2 : 1); ++f) {
        const ashlar::half value(scale(engine));
        std::memcpy(bytes.data() + at + d + 2 * f, &value, 2);
      }
    return bytes;
  }
  std::normal_distribution<float> normal(0, .02f);
  for (index_t k = 0; k < n; ++k) {
    const float x = normal(engine);
    if (type == DType::f32) std::memcpy(bytes.data() + 4 * k, &x, 4);
    const std::uint16_t bits = type == DType::f16 ? ashlar::half(x).bits : ashlar::bfloat16(x).bits;
    if (type != DType::f32) std::memcpy(bytes.data() + 2 * k, &bits, 2);
  }
  return bytes;
}

/// W [N, K] as rows, and `copies` of its panels one after the other.
struct RandomWeights {
  RandomWeights(DType type, index_t N, index_t K, index_t copies = 1)
      : stored(random_elements(type, N * K)),
        rows(stored.data(), type, N, K, ashlar::WeightLayout::rows),
        bytes(ashlar::packed_bytes(type, N, K)),
        packed(bytes * copies) {
    ashlar::pack_panels(rows, packed.data(), executor(thread_counts().back()));
    for (index_t c = 1; c < copies; ++c)
      std::memcpy(packed.data() + c * bytes, packed.data(), static_cast<std::size_t>(bytes));
  }
  ashlar::WeightMatrix panels(index_t copy = 0) const {
    return {packed.data() + copy * bytes, rows.type(), rows.rows(), rows.columns(),
            ashlar::WeightLayout::panels};
  }

  ashlar::Buffer<std::byte> stored;
  ashlar::WeightMatrix rows;
  index_t bytes;  // of one copy
  ashlar::Buffer<std::byte> packed;
};

}  // namespace bench
