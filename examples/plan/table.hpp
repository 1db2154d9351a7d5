// Costs as a table of text, a column a model.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "costs.hpp"

namespace ashlar::examples {

/// 12345678 as 12,345,678.
inline std::string grouped(index_t n) {
  std::string text = std::to_string(n);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}
inline std::string formatted(const char* format, double x) {
  char text[48];
  std::snprintf(text, sizeof text, format, x);
  return text;
}
/// With the largest unit of a ladder that leaves at least one before the point.
inline std::string with_unit(double x, double step, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  while (x >= step && unit + 1 != units.end()) {
    x /= step;
    ++unit;
  }
  return formatted(x < 10 ? "%.2f " : x < 100 ? "%.1f " : "%.0f ", x) + *unit;
}
inline std::string as_bytes(double bytes) {
  return with_unit(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}
inline std::string as_count(double n) {
  if (n < 1e3) return formatted("%.0f", n);
  std::string text = with_unit(n / 1e3, 1000, {"thousand", "million", "billion", "trillion"});
  return text;
}
inline std::string as_flops(double n) {
  return n < 1e15 ? with_unit(n / 1e6, 1000, {"MFLOP", "GFLOP", "TFLOP"}) : formatted("%.2e", n);
}

class Table {
 public:
  void add(std::string label, std::vector<std::string> cells) {
    rows_.push_back({std::move(label), std::move(cells)});
  }
  void title(std::string text) { rows_.push_back({"\n" + std::move(text), {}}); }

  std::string text() const {
    std::size_t label = 0, cell = 0;
    for (const Row& r : rows_) {
      if (!r.cells.empty()) label = std::max(label, r.label.size());
      for (const std::string& c : r.cells) cell = std::max(cell, c.size());
    }
    std::string out;
    for (const Row& r : rows_) {
      out += r.label;
      if (!r.cells.empty()) out.append(label - r.label.size(), ' ');
      for (const std::string& c : r.cells) out += std::string(cell + 2 - c.size(), ' ') + c;
      out += '\n';
    }
    return out;
  }

 private:
  struct Row {
    std::string label;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows_;
};

inline std::string cost_table(const std::vector<Costs>& models) {
  Table table;
  const auto row = [&](std::string label, auto cell) {
    std::vector<std::string> cells;
    for (const Costs& m : models) cells.push_back(cell(m));
    table.add(std::move(label), std::move(cells));
  };
  const auto count = [](index_t n) { return static_cast<double>(n); };

  row("", [](const Costs& m) { return m.name; });
  table.title("Shape");
  row("  layers", [](const Costs& m) { return grouped(m.shape.layers); });
  row("  width D", [](const Costs& m) { return grouped(m.shape.d_model); });
  row("  width / layers (rule: 100 to 200)",
      [](const Costs& m) { return formatted("%.0f", m.shape.aspect()); });
  row("  heads x head width",
      [](const Costs& m) { return join(m.shape.n_heads, " x ", m.shape.head_dim); });
  row("  key heads", [](const Costs& m) { return grouped(m.shape.n_kv_heads); });
  row("  feed-forward", [](const Costs& m) {
    return join(grouped(m.shape.d_ff), m.shape.gated ? " gated" : " plain");
  });
  row("  / D (rule: 4 plain, 2.67 gated)",
      [](const Costs& m) { return formatted("%.2f", m.shape.ffn_ratio()); });
  row("  vocabulary", [](const Costs& m) {
    return grouped(m.shape.vocabulary) + (m.shape.tied_head ? " tied" : "");
  });

  table.title("Parameters");
  row("  all", [](const Costs& m) { return grouped(m.parameters.total()); });
  row("  without embeddings", [](const Costs& m) { return grouped(m.parameters.non_embedding()); });
  row("  share of embeddings and head", [&](const Costs& m) {
    return formatted("%.1f %%",
                     100 * count(m.parameters.embedding()) / count(m.parameters.total()));
  });
  for (std::size_t i = 0; i < weight_types.size(); ++i)
    row("  weights, " + std::string(info(weight_types[i]).name), [&](const Costs& m) {
      return m.weights[i] ? as_bytes(count(*m.weights[i])) : std::string("rows do not fit");
    });

  table.title("Running");
  row("  context", [](const Costs& m) { return grouped(m.context); });
  row("  one more token at its end", [](const Costs& m) { return as_flops(m.decode.total()); });
  row("    of which attention", [](const Costs& m) {
    return formatted("%.1f %%", 100 * m.decode.attention / m.decode.total());
  });
  row("  keys and values a token, 16 bits", [](const Costs& m) { return as_bytes(m.kv_token); });
  row("  of the context, 16 bits", [](const Costs& m) { return as_bytes(m.kv_context); });
  row("  of the context, this library's state",
      [&](const Costs& m) { return as_bytes(count(m.state)); });
  row("  prompt", [](const Costs& m) { return grouped(m.prompt); });
  row("  a token of it", [](const Costs& m) { return as_flops(m.forward.total()); });
  row("  temporary tensors", [&](const Costs& m) { return as_bytes(count(m.scratch)); });

  table.title("Training, sequences of the context");
  row("  a token", [](const Costs& m) { return as_flops(m.training.total()); });
  row("  / (6 x parameters)", [&](const Costs& m) {
    return formatted("%.2f", m.training.total() / (6 * count(m.parameters.total())));
  });
  row("  weights, gradients, Adam", [&](const Costs& m) {
    return as_bytes(plan::adam_bytes_per_parameter * count(m.parameters.total()));
  });
  row("  activations a token, tiled attention",
      [](const Costs& m) { return as_bytes(m.activations.layers + m.activations.logits); });
  row("  with scores kept", [](const Costs& m) {
    return as_bytes(m.activations.layers + m.activations.logits + m.activations.scores);
  });
  row("  20 tokens a parameter",
      [&](const Costs& m) { return as_count(20 * count(m.parameters.total())); });
  row("  operations for them", [&](const Costs& m) {
    return formatted("%.2e", m.training.total() * 20 * count(m.parameters.total()));
  });
  return table.text();
}

}  // namespace ashlar::examples
