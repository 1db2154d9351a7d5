// A second oracle of attention: streaming, keys descending, long double, masks restated as key
// ranges. It shares only the option structs with the first, so that a slip in one shows as a
// difference.
#pragma once

#include <cmath>
#include <limits>

#include "attention.hpp"

namespace oracle {

namespace second {

struct Range {
  Index begin = 0, end = 0;
};

/// Keys that lengths, causality and window leave to row i; the prefix is a second range. Returns
/// the row's position.
inline Index key_ranges(const AttentionShape& s, const AttentionOptions& o, Index b, Index i,
                        Range& seen, Range& prefix) {
  const Index keys = o.kv_lengths.empty() ? s.S : o.kv_lengths[to_size(b)];
  const Index rows = o.q_lengths.empty() ? s.T : o.q_lengths[to_size(b)];
  const Index p = (o.q_offset.empty() ? keys - rows : o.q_offset[to_size(b)]) + i;
  seen = {0, i < rows ? keys : 0};
  prefix = {0, 0};
  if (!o.causal && o.window == 0) return p;
  const Index begin = o.window > 0 ? std::max<Index>(0, p + 1 - o.window) : 0;
  prefix = {begin, std::min(seen.end, o.prefix)};
  seen = {begin, std::min(seen.end, p + 1)};
  return p;
}

inline bool inside(const Range& r, Index j) { return r.begin <= j && j < r.end; }

}  // namespace second

/// The same function as oracle::attention; magnitude and score_sum stay empty.
inline AttentionResult attention_second(const Vec& q, const Vec& k, const Vec& v,
                                        const AttentionShape& s, const AttentionOptions& o = {}) {
  using Real = long double;
  const Real infinity = std::numeric_limits<Real>::infinity();
  AttentionResult r;
  r.out.assign(to_size(s.B * s.T * s.N * s.Hv), 0.0);
  r.lse.assign(to_size(s.B * s.N * s.T), -std::numeric_limits<double>::infinity());
  const Index group = s.N / s.K;
  std::vector<Real> sum(to_size(s.Hv));
  for (Index kv = 0; kv < s.K; ++kv) {
    for (Index b = s.B; b-- > 0;) {
      for (Index i = 0; i < s.T; ++i) {
        second::Range seen, prefix;
        const Index p = second::key_ranges(s, o, b, i, seen, prefix);
        for (Index n = kv * group; n < (kv + 1) * group; ++n) {
          Real top = -infinity, total = 0;
          std::fill(sum.begin(), sum.end(), Real(0));
          for (Index j = s.S; j-- > 0;) {
            if (!second::inside(seen, j) && !second::inside(prefix, j)) continue;
            if (!o.documents.empty()) {
              const auto count = static_cast<Index>(o.documents.size());
              const Index here = p < 0 ? 0 : (p >= count ? count - 1 : p);
              if (o.documents[to_size(here)] != o.documents[to_size(j)]) continue;
            }
            if (o.block_size > 0 &&
                !o.blocks[to_size((p < 0 ? 0 : p) / o.block_size)][to_size(j / o.block_size)])
              continue;
            if (o.keep && !o.keep(b, n, p, j)) continue;
            Real x = 0;
            for (Index h = s.H; h-- > 0;)
              x += Real(k[to_size(((b * s.S + j) * s.K + kv) * s.H + h)]) *
                   Real(q[to_size(((b * s.T + i) * s.N + n) * s.H + h)]);
            x = o.scale ? x * Real(*o.scale) : x / std::sqrt(Real(s.H));
            if (o.softcap > 0) x = Real(o.softcap) * std::tanh(x / Real(o.softcap));
            if (!o.alibi_slopes.empty())
              x -=
                  Real(o.alibi_slopes[to_size(n)]) * (o.alibi_from_origin ? -Real(j) : Real(p - j));
            if (o.bias) x += Real(o.bias(b, n, p, j));
            const Real new_top = std::fmax(top, x);
            const Real old = top == -infinity ? Real(0) : std::exp(top - new_top);
            const Real now = x == -infinity ? Real(0) : std::exp(x - new_top);
            total = total * old + now;
            for (Index h = 0; h < s.Hv; ++h)
              sum[to_size(h)] = sum[to_size(h)] * old +
                                now * Real(v[to_size(((b * s.S + j) * s.K + kv) * s.Hv + h)]);
            top = new_top;
          }
          if (!o.sinks.empty()) {
            const Real sink = o.sinks[to_size(n)], new_top = std::fmax(top, sink);
            const Real old = top == -infinity ? Real(0) : std::exp(top - new_top);
            total = total * old + std::exp(sink - new_top);
            for (Real& x : sum) x *= old;
            top = new_top;
          }
          if (top == -infinity) continue;
          r.lse[to_size((b * s.N + n) * s.T + i)] = static_cast<double>(top + std::log(total));
          for (Index h = 0; h < s.Hv; ++h)
            r.out[to_size(((b * s.T + i) * s.N + n) * s.Hv + h)] =
                static_cast<double>(sum[to_size(h)] / total);
        }
      }
    }
  }
  return r;
}

}  // namespace oracle
