// TextHeads: the heads of BERT and its kin; each is there or not.
#pragma once

#include <ashlar/nn/head/masked_lm.hpp>
#include <ashlar/nn/head/pooling.hpp>
#include <ashlar/nn/head/projection.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// A masked-LM head over all tokens; a pooler of the first one and a classifier of what it gives.
template <NormPolicy Norm>
struct TextHeads {
  using MaskedLm = MaskedLmHead<Norm>;
  struct Config {
    typename MaskedLm::Config masked_lm{};
    Pooler::Config pooler{};
    Projection::Config classifier{};
  };
  struct Weights {
    typename MaskedLm::Weights masked_lm;
    Pooler::Weights pooler;
    Projection::Weights classifier;
  };
  static void visit(Weights& w, const Config& c, index_t vocabulary, index_t width, auto&& f) {
    MaskedLm::visit(w.masked_lm, c.masked_lm, vocabulary, width, prefixed("masked_lm.", f));
    Pooler::visit(w.pooler, c.pooler, width, prefixed("pooler.", f));
    Projection::visit(w.classifier, c.classifier, width, prefixed("classifier.", f));
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
