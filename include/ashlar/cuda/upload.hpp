// The weights of a model in a device's memory.
#pragma once

#include <ashlar/cuda/device_buffer.hpp>
#include <ashlar/cuda/weight_types.hpp>
#include <ashlar/weights/pack.hpp>
#include <vector>

namespace ashlar::inline ASHLAR_ABI::cuda {

/// How a matrix is kept on a device: in panels, in its own type where there is device code for it.
inline DType device_type(const WeightMatrix& w) {
  return is_weight_type(w.type()) ? w.type() : DType::f32;
}
inline void pack_for_device(const WeightMatrix& w, const Executor& executor, std::byte* to) {
  const index_t K = w.columns();
  if (is_weight_type(w.type())) {
    if (w.layout() == WeightLayout::rows) return pack_panels(w, to, executor);
    std::memcpy(to, w.data(), static_cast<std::size_t>(packed_bytes(w.type(), w.rows(), K)));
    return;
  }
  parallel_for(executor, ceil_div(w.rows(), panel_rows), [&](index_t p, int) {
    const index_t first = p * panel_rows, count = min_index(panel_rows, w.rows() - first);
    std::vector<float> rows(static_cast<std::size_t>(count * K));
    for (index_t r = 0; r < count; ++r) decode_row(w, first + r, rows.data() + r * K);
    pack_panels(WeightMatrix(rows.data(), DType::f32, count, K, WeightLayout::rows),
                to + p * panel_bytes(DType::f32, K));
  });
}

/// Copies all weights that visit(f) names by f(name, view, extents), as CausalLm::visit does, into
/// one piece of memory of the device, and makes the views point there: `weights` are of no more use
/// to the host. Types without device code (Q5_0, the K types, ..) become F32, without loss. The
/// memory is the result and must outlive the views. Waits for the stream.
/// Throws CudaError; nothing is changed then.
template <class Visit>
DeviceBuffer<std::byte> upload(const Device& device, CUstream_st* stream, const Executor& executor,
                               Visit&& visit) {
  constexpr index_t align = 256;
  const auto bytes_of = [](const auto& view) {
    if constexpr (requires { view.layout(); })
      return view.empty() ? 0 : packed_bytes(device_type(view), view.rows(), view.columns());
    else
      return view.size() * index_t{sizeof(float)};
  };
  index_t total = 0, largest = 0;
  visit([&](std::string_view, auto& view, std::initializer_list<index_t>) {
    total += round_up(bytes_of(view), align);
    largest = max_index(largest, bytes_of(view));
  });
  DeviceBuffer<std::byte> memory(device, total);
  Buffer<std::byte> staged(largest);
  index_t at = 0;
  visit([&](std::string_view, auto& view, std::initializer_list<index_t>) {
    const index_t bytes = bytes_of(view);
    if (bytes == 0) return;
    if constexpr (requires { view.layout(); })
      pack_for_device(view, executor, staged.data());
    else
      for (index_t i = 0; i < view.size(); ++i)
        std::memcpy(staged.data() + i * index_t{sizeof(float)}, &view(i), sizeof(float));
    memory.upload({staged.data(), static_cast<std::size_t>(bytes)}, stream, at);
    device.synchronize(stream);
    at += round_up(bytes, align);
  });
  at = 0;
  visit([&](std::string_view, auto& view, std::initializer_list<index_t>) {
    const index_t bytes = bytes_of(view);
    if (bytes == 0) return;
    std::byte* data = memory.data() + at;
    if constexpr (requires { view.layout(); })
      view =
          WeightMatrix(data, device_type(view), view.rows(), view.columns(), WeightLayout::panels);
    else
      view = VectorView<const float>(reinterpret_cast<const float*>(data), {view.extent(0)});
    at += round_up(bytes, align);
  });
  return memory;
}

}  // namespace ashlar::inline ASHLAR_ABI::cuda
