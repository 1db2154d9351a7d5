// ClassHeads: what vision models compute from the class token.
#pragma once

#include <ashlar/nn/head/pooling.hpp>
#include <ashlar/nn/head/projection.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// A pooler and a classifier, each of the class token's state; each is there or not.
struct ClassHeads {
  struct Config {
    Pooler::Config pooler{};
    Projection::Config classifier{};
  };
  struct Weights {
    Pooler::Weights pooler;
    Projection::Weights classifier;
  };
  static void visit(Weights& w, const Config& c, index_t /*vocabulary*/, index_t width, auto&& f) {
    Pooler::visit(w.pooler, c.pooler, width, prefixed("pooler.", f));
    Projection::visit(w.classifier, c.classifier, width, prefixed("classifier.", f));
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
