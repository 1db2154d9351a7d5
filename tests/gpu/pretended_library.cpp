// What bench/cuda's library offers, on the host and with a clock that only calls move: for a
// rehearsal of gpu_bench.py.
#include <ashlar/core/dtype.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using ashlar::bfloat16;

namespace {

double now_ms = 0;
const bool is_wrong = std::getenv("BENCH_WRONG") != nullptr;
const bool is_slow = std::getenv("BENCH_SLOW") != nullptr;

float at(const bfloat16* x, long i) { return static_cast<float>(x[i]); }

/// Row s of the keys of sequence b: in rows or on pages.
template <class RowOf>
void attend(const bfloat16* q, const bfloat16* k, const bfloat16* v, bfloat16* out, long B, long T,
            long S, long N, long K, long H, bool causal, RowOf row_of) {
  std::vector<double> w(static_cast<std::size_t>(S)), sum(static_cast<std::size_t>(H));
  for (long b = 0; b < B; ++b)
    for (long t = 0; t < T; ++t)
      for (long n = 0; n < N; ++n) {
        const long keys = causal ? S - T + t + 1 : S, at_q = ((b * T + t) * N + n) * H;
        double total = 0;
        std::fill(sum.begin(), sum.end(), 0);
        for (long s = 0; s < keys; ++s) {
          const long from = (row_of(b, s) * K + n / (N / K)) * H;
          double dot = 0;
          for (long h = 0; h < H; ++h) dot += double(at(q, at_q + h)) * double(at(k, from + h));
          const double weight = std::exp(dot / std::sqrt(double(H)));
          total += weight;
          for (long h = 0; h < H; ++h)
            sum[static_cast<std::size_t>(h)] += weight * double(at(v, from + h));
        }
        for (long h = 0; h < H; ++h)
          out[at_q + h] = bfloat16(static_cast<float>(sum[static_cast<std::size_t>(h)] / total) *
                                   (is_wrong && h == 0 ? 2.f : 1.f));
      }
  now_ms += 0.2;
}

}  // namespace

extern "C" {

const char* bench_device(char* name, int room, int* architecture, std::size_t* bytes_free) {
  std::snprintf(name, static_cast<std::size_t>(room), "pretended");
  *architecture = 90;
  *bytes_free = std::size_t{1} << 30;
  return nullptr;
}
const char* bench_allocate(void** p, std::size_t bytes) {
  *p = std::malloc(bytes);
  return *p ? nullptr : "no memory";
}
const char* bench_free(void* p) {
  std::free(p);
  return nullptr;
}
const char* bench_copy(void* to, const void* from, std::size_t bytes, void*) {
  std::memcpy(to, from, bytes);
  return nullptr;
}
const char* bench_fill(bfloat16* x, std::size_t count, unsigned seed) {
  for (std::size_t i = 0; i < count; ++i)
    x[i] = bfloat16(static_cast<float>((i * 2654435761u + seed) % 1024) / 256.f - 2.f);
  return nullptr;
}
const char* bench_synchronize() { return nullptr; }
const char* bench_stream(void** stream) {
  *stream = nullptr;
  return nullptr;
}
const char* bench_event(double** event) {
  *event = new double(0);
  return nullptr;
}
const char* bench_record(double* event, void*) {
  *event = now_ms;
  return nullptr;
}
const char* bench_elapsed(float* milliseconds, const double* begin, const double* end) {
  *milliseconds = static_cast<float>(*end - *begin);
  return nullptr;
}
const char* bench_capture(void*) { return nullptr; }
const char* bench_captured(void** graph, void*) {
  *graph = std::malloc(1);
  return nullptr;
}
const char* bench_replay(void*, void*) {
  now_ms += is_slow ? 100 : 1e-6;
  return nullptr;
}
const char* bench_free_graph(void* graph) {
  std::free(graph);
  return nullptr;
}

const char* bench_attention(bfloat16* q, bfloat16* k, bfloat16* v, bfloat16* out, long B, long T,
                            long S, long N, long K, long H, int causal, void*) {
  attend(q, k, v, out, B, T, S, N, K, H, causal, [S](long b, long s) { return b * S + s; });
  return nullptr;
}
const char* bench_decode(bfloat16* q, bfloat16* k, bfloat16* v, bfloat16* out, long B, long S,
                         long N, long K, long H, void*, std::size_t, void*) {
  attend(q, k, v, out, B, 1, S, N, K, H, false, [S](long b, long s) { return b * S + s; });
  return nullptr;
}
const char* bench_decode_paged(bfloat16* q, bfloat16* k, bfloat16* v, const std::int32_t* table,
                               bfloat16* out, long B, long S, long N, long K, long H, int log2_page,
                               void*, std::size_t, void*) {
  const long page = 1L << log2_page;
  attend(q, k, v, out, B, 1, S, N, K, H, false,
         [=](long b, long s) { return table[(b * S + s) / page] * page + s % page; });
  return nullptr;
}
const char* bench_rms_norm(const bfloat16* x, const float* gain, bfloat16* y, long rows, long width,
                           void*) {
  for (long r = 0; r < rows; ++r) {
    double sum = 0;
    for (long i = 0; i < width; ++i) sum += std::pow(double(at(x, r * width + i)), 2);
    for (long i = 0; i < width; ++i)
      y[r * width + i] = bfloat16(static_cast<float>(double(at(x, r * width + i) * gain[i]) /
                                                     std::sqrt(sum / double(width) + 1e-5)));
  }
  return nullptr;
}
const char* bench_swiglu(const bfloat16*, const bfloat16*, bfloat16*, long, long, void*) {
  return nullptr;
}
const char* bench_residual_add(const bfloat16*, bfloat16*, long, long, void*) { return nullptr; }
const char* bench_gemm(const bfloat16*, const bfloat16*, bfloat16*, long, long, long, void*,
                       std::size_t, void*) {
  return nullptr;
}

}  // extern "C"
