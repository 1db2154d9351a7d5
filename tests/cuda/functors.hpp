// Masks and scores of a user's own, beside those of the library, each with its oracle.
#pragma once

#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/attention/mask/combine.hpp>
#include <ashlar/attention/mask/local_window.hpp>
#include <ashlar/attention/mask/none.hpp>
#include <ashlar/attention/mask/sliding_window.hpp>
#include <ashlar/attention/score/alibi.hpp>
#include <ashlar/attention/score/scaled_alibi.hpp>
#include <ashlar/attention/score/sequence.hpp>
#include <ashlar/attention/score/soft_cap.hpp>
#include <ashlar/attention/score/t5_bias.hpp>

namespace cuda_test {

using ashlar::index_t;

/// Holes in no order; asked about a pair that does not exist, it says so.
struct Holes {
  index_t q_begin = 0, q_end = 0, keys = 0;
  bool* strayed = nullptr;

  ASHLAR_HD bool keep(index_t b, index_t h, index_t q, index_t k) const {
    if (strayed && (q < q_begin || q >= q_end || k < 0 || k >= keys)) *strayed = true;
    return (q * 7 + k * 5 + h + b) % 11 < 6 && k % 17 != 3;
  }
  ASHLAR_HD ashlar::TileKind classify(index_t, index_t, index_t q0, index_t q1, index_t k0,
                                      index_t k1) const {
    if (strayed && (q0 < q_begin || q1 > q_end || k0 < 0 || k1 > keys || q0 >= q1 || k0 >= k1))
      *strayed = true;
    return ashlar::TileKind::partial;
  }
};

/// Positions of one document see each other; ids ascend, in the device's memory.
struct Documents {
  const int* ids = nullptr;

  ASHLAR_HD bool keep(index_t, index_t, index_t q, index_t k) const { return ids[q] == ids[k]; }
  ASHLAR_HD ashlar::TileKind classify(index_t, index_t, index_t q0, index_t q1, index_t k0,
                                      index_t k1) const {
    if (ids[k1 - 1] < ids[q0] || ids[k0] > ids[q1 - 1]) return ashlar::TileKind::skip;
    const bool one = ids[q0] == ids[q1 - 1] && ids[k0] == ids[k1 - 1] && ids[q0] == ids[k0];
    return one ? ashlar::TileKind::full : ashlar::TileKind::partial;
  }
};

/// Another window for every head: what the heads of one key head see differs.
struct WindowPerHead {
  ASHLAR_HD bool keep(index_t, index_t h, index_t q, index_t k) const {
    return k <= q && k > q - 20 * (h + 1);
  }
  ASHLAR_HD ashlar::TileKind classify(index_t, index_t h, index_t q0, index_t q1, index_t k0,
                                      index_t k1) const {
    if (k0 > q1 - 1 || k1 - 1 <= q0 - 20 * (h + 1)) return ashlar::TileKind::skip;
    return k1 - 1 <= q0 && k0 > q1 - 1 - 20 * (h + 1) ? ashlar::TileKind::full
                                                      : ashlar::TileKind::partial;
  }
};

struct Nothing {
  ASHLAR_HD bool keep(index_t, index_t, index_t, index_t) const { return false; }
  ASHLAR_HD ashlar::TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return ashlar::TileKind::partial;
  }
};

struct OwnScore {
  ASHLAR_HD float operator()(float s, index_t b, index_t h, index_t q, index_t k) const {
    return s - static_cast<float>((q + 2 * k + h + b) % 5);
  }
};

}  // namespace cuda_test
