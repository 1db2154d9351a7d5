// An attention case in memory, and the mask and score functors that a test makes from its tables.
#pragma once

#include <gtest/gtest.h>

#include <ashlar/attention/options.hpp>
#include <ashlar/attention/score/t5_bias.hpp>

#include "../oracle/attention.hpp"
#include "case.hpp"

namespace golden {

/// Inputs, settings and expected values of one attention case.
struct AttentionCase {
  explicit AttentionCase(const OpCase& c)
      : q(c.values<float>("q")),
        k(c.values<float>("k")),
        v(c.values<float>("v")),
        out(c.values<float>("out")),
        lse(c.values<float>("lse")),
        sinks(c.values_or_none<float>("sinks")),
        slopes(c.values_or_none<float>("slopes")),
        q_offset(c.values<index_t>("q_offset")),
        q_lengths(c.integers("q_lengths")),
        kv_lengths(c.integers("kv_lengths")),
        factor(tolerance_factor(c)) {
    c.allow_settings({"B",         "T",     "S",           "N",          "K",      "H",
                      "Hv",        "scale", "causal",      "q_offset",   "window", "prefix",
                      "documents", "block", "random_mask", "softcap",    "alibi",  "alibi_origin",
                      "t5",        "sinks", "q_lengths",   "kv_lengths", "poison", "gain",
                      "gradient"});
    const auto& qs = c.shape("q");
    const auto& ks = c.shape("k");
    shape = {qs[0], qs[1], ks[1], qs[2], ks[2], qs[3], c.shape("v")[3]};
    options.scale = c.number("scale", 1 / std::sqrt(static_cast<double>(shape.H)));
    options.softcap = c.number("softcap", 0);
    options.causal = c.flag("causal");
    options.window = c.integer("window", 0);
    options.prefix = c.integer("prefix", 0);
    options.documents = c.integers("documents");
    options.q_offset = q_offset;
    options.q_lengths = q_lengths;
    options.kv_lengths = kv_lengths;
    options.sinks.assign(sinks.begin(), sinks.end());
    options.alibi_slopes.assign(slopes.begin(), slopes.end());
    options.alibi_from_origin = c.text("alibi_origin", "distance") == "key_index";
    if (const auto* block = c.setting("block")) {
      options.block_size = static_cast<index_t>(block->at("size").as_int());
      for (const auto& row : block->at("pattern").items()) {
        options.blocks.emplace_back();
        for (const auto& cell : row.items())
          options.blocks.back().push_back(cell.is_bool() ? cell.as_bool() : cell.as_int() != 0);
      }
    }
    if (c.has("mask")) {
      visible = c.values<std::uint8_t>("mask");
    } else {
      visible.assign(oracle::to_size(shape.B * shape.T * shape.S), 1);
    }
    if (c.setting("random_mask")) {  // lives in the tensor only
      options.keep = [this](index_t b, index_t, index_t p, index_t key) {
        const index_t row = b * shape.T + p - q_offset[oracle::to_size(b)];
        return visible[oracle::to_size(row * shape.S + key)] != 0;
      };
    }
    if (const auto* t5 = c.setting("t5")) {
      const bool both = t5->at("bidirectional").as_bool();
      const auto count = static_cast<index_t>(t5->at("buckets").as_int());
      const auto maximum = static_cast<index_t>(t5->at("maximum").as_int());
      buckets = ashlar::T5Buckets(count, maximum, both);
      bias_table = c.values<float>("bias_table");
      options.bias = [=, this, table = c.values<double>("bias_table")](index_t, index_t h,
                                                                       index_t p, index_t key) {
        const index_t bucket = oracle::t5_bucket(key - p, both, count, maximum);
        return table[oracle::to_size(bucket * shape.N + h)];
      };
    }
    library_mask = options.prefix == 0 && options.documents.empty() && options.block_size == 0 &&
                   !options.keep;
    library_score = !options.alibi_from_origin && (slopes.empty() || !options.bias);
  }
  AttentionCase(const AttentionCase&) = delete;  // the functors above point here

  std::vector<float> q, k, v, out, lse, sinks, slopes, bias_table;
  ashlar::T5Buckets buckets;
  std::vector<index_t> q_offset, q_lengths, kv_lengths;
  std::vector<std::uint8_t> visible;  // [B, T, S]
  oracle::AttentionShape shape;
  oracle::AttentionOptions options;
  double factor;
  bool library_mask = false, library_score = false;  // the library has such a mask, such a score
};

/// Masks by the table of a case. A kernel that asks about a query or key that does not exist fails.
struct TableMask {
  const std::uint8_t* visible = nullptr;
  const index_t* q_offset = nullptr;
  index_t rows = 0, keys = 0;

  bool keep(index_t b, index_t, index_t q, index_t k) const {
    const index_t i = q - q_offset[b];
    if (i < 0 || i >= rows || k < 0 || k >= keys) {
      ADD_FAILURE() << "mask asked about row " << i << " of " << rows << ", key " << k << " of "
                    << keys;
      return false;
    }
    return visible[(b * rows + i) * keys + k] != 0;
  }
  ashlar::TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return ashlar::TileKind::partial;
  }
};

/// Adds the bias of a table [B, N, T, S].
struct TableBias {
  const float* bias = nullptr;
  const index_t* q_offset = nullptr;
  index_t heads = 0, rows = 0, keys = 0;

  float operator()(float s, index_t b, index_t h, index_t q, index_t k) const {
    const index_t i = q - q_offset[b];
    if (i < 0 || i >= rows || k < 0 || k >= keys) {
      ADD_FAILURE() << "score asked about row " << i << " of " << rows << ", key " << k << " of "
                    << keys;
      return s;
    }
    return s + bias[((b * heads + h) * rows + i) * keys + k];
  }
};

/// The bias of every pair of a case: ALiBi or a table of buckets.
inline std::vector<float> pair_bias(const AttentionCase& c) {
  std::vector<float> table;
  for (index_t b = 0; b < c.shape.B; ++b)
    for (index_t n = 0; n < c.shape.N; ++n)
      for (index_t i = 0; i < c.shape.T; ++i)
        for (index_t j = 0; j < c.shape.S; ++j) {
          const index_t p = c.q_offset[oracle::to_size(b)] + i;
          double bias = c.options.bias ? c.options.bias(b, n, p, j) : 0.0;
          if (!c.slopes.empty())
            bias += c.options.alibi_slopes[oracle::to_size(n)] *
                    static_cast<double>(c.options.alibi_from_origin ? j : j - p);
          table.push_back(static_cast<float>(bias));
        }
  return table;
}

}  // namespace golden
