// T5RelativeBias: a learned bias for every bucket of distances, one a head.
#pragma once

#include <ashlar/attention/score/none.hpp>
#include <ashlar/core/error.hpp>
#include <ashlar/core/shared_list.hpp>
#include <ashlar/core/view.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// Which bucket a distance k - q belongs to. Half of the buckets hold one distance each, the others
/// grow with it up to max_distance, beyond which all share the last. Bidirectional: the first half
/// is for keys up to the query, the second for those after it; causal: keys after it have bucket 0.
/// Formed once, so that a score costs a look-up and no logarithm. Source: Raffel et al. 2019, T5.
class T5Buckets {
 public:
  T5Buckets() = default;
  /// Throws ValueError for fewer than two buckets a direction, an odd number for two directions, or
  /// a max_distance that the buckets of one distance cover, or above 2^20.
  T5Buckets(index_t buckets, index_t max_distance, bool bidirectional)
      : buckets_(buckets), limit_(max_distance) {
    const index_t side = bidirectional ? buckets / 2 : buckets, exact = side / 2;
    if (exact < 1 || (bidirectional && buckets % 2 != 0))
      fail<ValueError>("T5Buckets: buckets is ", buckets, ", expected ",
                       bidirectional ? "an even number of at least 4" : "at least 2");
    if (max_distance <= exact || max_distance > index_t{1} << 20)
      fail<ValueError>("T5Buckets: max_distance is ", max_distance, ", expected ", exact + 1,
                       " to 2^20");
    std::vector<std::int32_t> of_distance(static_cast<std::size_t>(2 * limit_ + 1));
    for (index_t n = 0; n <= limit_; ++n) {
      const auto bucket = static_cast<std::int32_t>(of_length(n, exact, side, limit_));
      of_distance[static_cast<std::size_t>(limit_ - n)] = bucket;
      if (n > 0)
        of_distance[static_cast<std::size_t>(limit_ + n)] =
            bidirectional ? static_cast<std::int32_t>(side) + bucket : 0;
    }
    of_distance_ = std::move(of_distance);
  }

  index_t buckets() const { return buckets_; }
  /// The bucket of a distance k - q.
  index_t operator()(index_t distance) const {
    return of_distance_[static_cast<std::size_t>(limit_ +
                                                 max_index(-limit_, min_index(distance, limit_)))];
  }
  /// The buckets of the distances -n .. n as one list, for a copy in another memory.
  VectorView<const std::int32_t> list() const {
    return {of_distance_.data(), {buckets_ == 0 ? 0 : 2 * limit_ + 1}};
  }

 private:
  /// Distances that lie on a border in exact numbers belong to the farther bucket.
  static index_t of_length(index_t n, index_t exact, index_t side, index_t limit) {
    if (n < exact) return n;
    const auto ratio = [&](index_t x) {
      return std::log(static_cast<double>(x) / static_cast<double>(exact));
    };
    const double steps = static_cast<double>(side - exact) * ratio(n) / ratio(limit);
    return min_index(exact + static_cast<index_t>(steps + 1e-9), side - 1);
  }

  index_t buckets_ = 0, limit_ = 0;
  SharedList<std::int32_t> of_distance_;  // of -limit .. limit
};

/// s + table[bucket(k - q)][h]. Buckets and table stay the caller's.
/// Shapes   table [buckets, heads]
/// Throws   ShapeError for a table with another number of rows
class T5RelativeBias {
 public:
  constexpr T5RelativeBias() = default;
  T5RelativeBias(const T5Buckets& buckets, MatrixView<const float> table)
      : T5RelativeBias(buckets.list(), table) {
    if (table.extent(0) != buckets.buckets())
      fail<ShapeError>("T5RelativeBias: table has ", table.extent(0), " rows, expected ",
                       buckets.buckets(), " buckets");
  }
  /// From a copy of T5Buckets::list(), with the table in the same memory: a device's, say.
  T5RelativeBias(VectorView<const std::int32_t> buckets, MatrixView<const float> table)
      : bucket_at_zero_(buckets.data() + buckets.extent(0) / 2),
        limit_(buckets.extent(0) / 2),
        table_(table) {}

  template <std::floating_point V>
  ASHLAR_HD V operator()(V s, index_t, index_t h, index_t q, index_t k) const {
    const index_t distance = max_index(-limit_, min_index(k - q, limit_));
    return s + static_cast<V>(table_(bucket_at_zero_[distance], h));
  }

 private:
  const std::int32_t* bucket_at_zero_ = nullptr;
  index_t limit_ = 0;
  MatrixView<const float> table_{};
};
static_assert(ScorePolicy<T5RelativeBias>);

}  // namespace ashlar::inline ASHLAR_ABI
