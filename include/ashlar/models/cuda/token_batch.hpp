// DeviceTokenBatch: what TokenBatch is to the host, with positions that only the device knows.
#pragma once

#include <ashlar/cuda/device_buffer.hpp>
#include <ashlar/cuda/launch.hpp>
#include <ashlar/cuda/step_rows.hpp>
#include <ashlar/nn/token_batch.hpp>
#include <memory>

namespace ashlar::inline ASHLAR_ABI {

namespace cuda {

/// Rotary tables of a decoder's state: the angles of every position there is room for, formed once,
/// and of each call those of its tokens.
class DeviceRopeTables {
 public:
  /// Makes the table of a rule for positions below `capacity` unless it is there, with room for
  /// calls of `most_rows`. Throws ValueError for a rule whose angles depend on the call.
  void add(const Device& device, CUstream_st* stream, const RopeRule& rule, index_t capacity,
           index_t most_rows) {
    if (rule.width == 0) return;
    for (const Entry& e : entries_)
      if (e.rule == rule) return;
    if (rule.scaling.depends_on() == RopeLength::call)
      fail<ValueError>(
          "RopeTables: angles that grow with the sequence (dynamic NTK) are not "
          "available on a device");
    const index_t row = rule.width / 2 * 2;
    std::vector<index_t> positions(static_cast<std::size_t>(capacity));
    for (index_t i = 0; i < capacity; ++i) positions[static_cast<std::size_t>(i)] = i;
    std::vector<float> values(static_cast<std::size_t>(capacity * row));
    rope_table(rule.frequencies(rule.length_of(capacity, capacity)),
               VectorView<const index_t>(positions.data(), {capacity}),
               TensorView<float, 3>(values.data(), {capacity, 2, row / 2}));
    Entry e{rule, DeviceBuffer<float>(device, capacity * row),
            DeviceBuffer<float>(device, most_rows * row), capacity};
    e.table.upload(values, stream);
    device.synchronize(stream);  // `values` goes
    entries_.push_back(std::move(e));
  }
  /// Enqueues the angles of a call's positions.
  void start(Context<backend::CudaGpu>& ctx, VectorView<const index_t> positions) {
    for (const Entry& e : entries_)
      launch<RopeRows>(ctx, "RopeTables",
                       {positions,
                        {e.table.data(), {e.capacity, 2, e.rule.width / 2}},
                        {e.rows.data(), {positions.extent(0), 2, e.rule.width / 2}}});
  }
  /// [M, 2, r / 2]. Throws ValueError for a rule that was not added.
  template <class A>
  TensorView<const float, 3> get(const RopeRule& rule, VectorView<const index_t> positions) const {
    static_assert(std::is_same_v<A, float>);
    for (const Entry& e : entries_)
      if (e.rule == rule) return {e.rows.data(), {positions.extent(0), 2, rule.width / 2}};
    fail<ValueError>("RopeTables: the state was not made for this layer's rotary rule");
  }

 private:
  struct Entry {
    RopeRule rule;
    DeviceBuffer<float> table, rows;
    index_t capacity;
  };
  std::vector<Entry> entries_;
};

/// B sequences of T tokens each. Made once with room for the largest call.
class DeviceTokenBatch {
 public:
  DeviceTokenBatch(const Device& device, index_t batch, index_t most_tokens)
      : positions_(device, batch * most_tokens),
        counts_(device, 2 * batch),
        batch_(batch),
        most_tokens_(most_tokens) {}

  index_t batch() const { return batch_; }
  index_t tokens() const { return tokens_; }
  index_t rows() const { return batch_ * tokens_; }
  index_t most_tokens() const { return most_tokens_; }
  /// [B T] and [B], on the device.
  VectorView<const index_t> positions() const { return {positions_.data(), {rows()}}; }
  const index_t* starts() const { return counts_.data(); }
  const index_t* ends() const { return counts_.data() + batch_; }
  PerSequence lengths() const { return {}; }
  const DeviceRopeTables& tables() const { return tables_; }
  DeviceRopeTables& tables() { return tables_; }

  /// Every sequence holds `length` tokens from now on: enqueues a copy and waits for it.
  void set_length(const Device& device, CUstream_st* stream, index_t length) {
    const std::vector<index_t> all(static_cast<std::size_t>(2 * batch_), length);
    counts_.upload(all, stream);
    device.synchronize(stream);
  }
  /// Enqueues what the layers of a call of T tokens a sequence read: it counts them.
  void start(Context<backend::CudaGpu>& ctx, index_t tokens) {
    tokens_ = tokens;
    launch<BeginStep>(
        ctx, "TokenBatch",
        {counts_.data(), counts_.data() + batch_, {positions_.data(), {rows()}}, batch_, tokens});
    tables_.start(ctx, positions());
  }

 private:
  DeviceBuffer<index_t> positions_, counts_;
  index_t batch_, most_tokens_, tokens_ = 0;
  DeviceRopeTables tables_;
};

/// Enqueues LearnedPosition's rows; a position outside the table becomes one that is none, whose
/// embedding is NaN.
inline void position_tokens(Context<backend::CudaGpu>& ctx, const DeviceTokenBatch& batch,
                            index_t offset, index_t count, VectorView<std::int32_t> rows) {
  launch<PositionTokens>(ctx, "LearnedPosition", {batch.positions(), rows, offset, count});
}

}  // namespace cuda

template <>
struct TokenBatchOn<backend::CudaGpu> {
  using type = cuda::DeviceTokenBatch;
};

}  // namespace ashlar::inline ASHLAR_ABI
