// Attention in double, written from its formula; includes no header of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace oracle {

using Index = std::ptrdiff_t;
using Vec = std::vector<double>;

inline std::size_t to_size(Index n) { return static_cast<std::size_t>(n); }

/// q [B, T, N, H], k [B, S, K, H], v [B, S, K, Hv].
struct AttentionShape {
  Index B = 1, T = 1, S = 1, N = 1, K = 1, H = 1, Hv = 1;
};

/// What a query may see and how a score is changed. Positions are absolute: query row i of sequence
/// b is at q_offset[b] + i. Every per-sequence vector may be empty (default) or has B entries.
struct AttentionOptions {
  std::optional<double> scale;  // 1/sqrt(H) unless given
  double softcap = 0;           // 0: off
  bool causal = false;
  Index window = 0;              // keys p-window+1 .. p; 0: off
  Index prefix = 0;              // keys below it are seen by everyone although causal
  std::vector<Index> documents;  // id of each position; only equal ids see each other
  Index block_size = 0;          // with blocks[position / size][key / size]
  std::vector<std::vector<int>> blocks;
  std::function<bool(Index b, Index h, Index p, Index key)> keep;
  std::vector<Index> q_offset;  // default: kv_length - q_length (bottom-right)
  std::vector<Index> q_lengths, kv_lengths;
  Vec alibi_slopes;                // [N]
  bool alibi_from_origin = false;  // slope * key instead of slope * (key - position)
  std::function<double(Index b, Index h, Index p, Index key)> bias;
  Vec sinks;  // [N] logits that join the denominator only
};

struct AttentionResult {
  Vec out;        // [B, T, N, Hv]
  Vec lse;        // [B, N, T], natural log, sink included
  Vec magnitude;  // [B, T, N, Hv]: sum of p * |v|, the unit of an error budget
  Vec score_sum;  // [B, N, T]: largest scale * sum |q_h * k_h| over visible keys
};

/// Position of query row 0 of sequence b.
inline Index first_position(const AttentionShape& s, const AttentionOptions& o, Index b) {
  if (!o.q_offset.empty()) return o.q_offset[to_size(b)];
  const Index keys = o.kv_lengths.empty() ? s.S : o.kv_lengths[to_size(b)];
  const Index rows = o.q_lengths.empty() ? s.T : o.q_lengths[to_size(b)];
  return keys - rows;
}

/// Whether query row i of sequence b, head h, sees key j.
inline bool sees(const AttentionShape& s, const AttentionOptions& o, Index b, Index h, Index i,
                 Index j) {
  const Index p = first_position(s, o, b) + i;
  if (!o.q_lengths.empty() && i >= o.q_lengths[to_size(b)]) return false;
  if (!o.kv_lengths.empty() && j >= o.kv_lengths[to_size(b)]) return false;
  if ((o.causal || o.window > 0) && !(j <= p || j < o.prefix)) return false;
  if (o.window > 0 && j <= p - o.window) return false;
  if (!o.documents.empty()) {
    const Index last = static_cast<Index>(o.documents.size()) - 1;
    if (o.documents[to_size(std::clamp<Index>(p, 0, last))] != o.documents[to_size(j)])
      return false;
  }
  if (o.block_size > 0) {
    const Index row = std::max<Index>(p, 0) / o.block_size;
    if (o.blocks[to_size(row)][to_size(j / o.block_size)] == 0) return false;
  }
  return !o.keep || o.keep(b, h, p, j);
}

/// Score of a visible pair: scale, softcap, bias, in this order.
inline double finish_score(const AttentionShape& s, const AttentionOptions& o, double dot, Index b,
                           Index h, Index i, Index j) {
  const Index p = first_position(s, o, b) + i;
  double x = o.scale.value_or(1 / std::sqrt(static_cast<double>(s.H))) * dot;
  if (o.softcap > 0) x = o.softcap * std::tanh(x / o.softcap);
  if (!o.alibi_slopes.empty())
    x += o.alibi_slopes[to_size(h)] * static_cast<double>(o.alibi_from_origin ? j : j - p);
  if (o.bias) x += o.bias(b, h, p, j);
  return x;
}

/// softmax(mask(bias + softcap(scale * q k^T))) v with the sink in the denominator. Keys that are
/// not seen are never read. A row that sees nothing gives 0 and -inf, with a sink 0 and the sink.
inline AttentionResult attention(const Vec& q, const Vec& k, const Vec& v, const AttentionShape& s,
                                 const AttentionOptions& o = {}) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double scale = std::abs(o.scale.value_or(1 / std::sqrt(static_cast<double>(s.H))));
  AttentionResult r;
  r.out.assign(to_size(s.B * s.T * s.N * s.Hv), 0.0);
  r.magnitude = r.out;
  r.lse.assign(to_size(s.B * s.N * s.T), -infinity);
  r.score_sum.assign(to_size(s.B * s.N * s.T), 0.0);
  Vec score(to_size(s.S));
  std::vector<bool> visible(to_size(s.S));
  for (Index b = 0; b < s.B; ++b) {
    for (Index n = 0; n < s.N; ++n) {
      const Index kv = n / (s.N / s.K);
      for (Index i = 0; i < s.T; ++i) {
        const Index row = (b * s.N + n) * s.T + i;
        const double* query = q.data() + ((b * s.T + i) * s.N + n) * s.H;
        const bool live = o.q_lengths.empty() || i < o.q_lengths[to_size(b)];
        const bool sink = !o.sinks.empty();
        double top = sink ? o.sinks[to_size(n)] : -infinity;
        for (Index j = 0; j < s.S; ++j) {
          visible[to_size(j)] = live && sees(s, o, b, n, i, j);
          if (!visible[to_size(j)]) continue;
          const double* key = k.data() + ((b * s.S + j) * s.K + kv) * s.H;
          double dot = 0, sum = 0;
          for (Index h = 0; h < s.H; ++h) {
            dot += query[h] * key[h];
            sum += std::abs(query[h] * key[h]);
          }
          score[to_size(j)] = finish_score(s, o, dot, b, n, i, j);
          top = std::max(top, score[to_size(j)]);
          r.score_sum[to_size(row)] = std::max(r.score_sum[to_size(row)], scale * sum);
        }
        if (top == -infinity) continue;  // nothing seen
        double total = sink ? std::exp(o.sinks[to_size(n)] - top) : 0.0;
        for (Index j = 0; j < s.S; ++j)
          if (visible[to_size(j)]) total += std::exp(score[to_size(j)] - top);
        r.lse[to_size(row)] = top + std::log(total);
        double* out = r.out.data() + ((b * s.T + i) * s.N + n) * s.Hv;
        double* magnitude = r.magnitude.data() + ((b * s.T + i) * s.N + n) * s.Hv;
        for (Index j = 0; j < s.S; ++j) {
          if (!visible[to_size(j)]) continue;
          const double weight = std::exp(score[to_size(j)] - top) / total;
          const double* value = v.data() + ((b * s.S + j) * s.K + kv) * s.Hv;
          for (Index h = 0; h < s.Hv; ++h) {
            out[h] += weight * value[h];
            magnitude[h] += weight * std::abs(value[h]);
          }
        }
      }
    }
  }
  return r;
}

/// Slopes of ALiBi. bloom: those of the largest power of two, then odd steps of twice as many. mpt:
/// those of the next power of two, 2nd, 4th, .. first, then 1st, 3rd, ..
inline Vec alibi_slopes(Index heads, bool mpt_order = false, double maximum = 8) {
  Vec slopes;
  Index power = 1;
  if (!mpt_order) {
    while (power * 2 <= heads) power *= 2;
    const auto n = static_cast<double>(power);
    for (Index i = 1; i <= power; ++i)
      slopes.push_back(std::exp2(-maximum * static_cast<double>(i) / n));
    for (Index i = 0; i < heads - power; ++i)
      slopes.push_back(std::exp2(-maximum * static_cast<double>(2 * i + 1) / (2 * n)));
    return slopes;
  }
  while (power < heads) power *= 2;
  const auto n = static_cast<double>(power);
  const bool whole = power == heads;
  for (Index i = whole ? 1 : 2; i <= power; i += whole ? 1 : 2)
    slopes.push_back(std::exp2(-maximum * static_cast<double>(i) / n));
  for (Index i = 1; !whole && i <= power; i += 2)
    slopes.push_back(std::exp2(-maximum * static_cast<double>(i) / n));
  slopes.resize(to_size(heads));
  return slopes;
}

/// Bucket of T5's relative bias for distance = key - query: exact up to half of the buckets, then
/// equal steps of the logarithm up to `maximum`. Without `bidirectional` keys to the right share
/// bucket 0.
inline Index t5_bucket(Index distance, bool bidirectional, Index buckets, Index maximum) {
  Index start = 0;
  if (bidirectional) {
    buckets /= 2;
    if (distance > 0) start = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<Index>(-distance, 0);
  }
  const Index exact = buckets / 2, steps = buckets - exact;
  if (distance < exact) return start + distance;
  // Largest k < steps with exact * (maximum / exact)^(k / steps) <= distance; the borders are hit
  // exactly, so the comparison leaves room for rounding.
  Index k = 0;
  const double ratio = static_cast<double>(maximum) / static_cast<double>(exact);
  while (k + 1 < steps &&
         static_cast<double>(exact) *
                 std::pow(ratio, static_cast<double>(k + 1) / static_cast<double>(steps)) <=
             static_cast<double>(distance) * (1 + 1e-9))
    ++k;
  return start + exact + k;
}

}  // namespace oracle
