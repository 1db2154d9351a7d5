// expect: MaskPolicy
#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct EvenKeys {
  bool keep(index_t, index_t, index_t, index_t k) const { return k % 2 == 0; }
#if defined(FIXED)
  TileKind classify(index_t, index_t, index_t, index_t, index_t, index_t) const {
    return TileKind::partial;
  }
#endif
};

AttentionOptions<EvenKeys> options;
