// expect: ashlar: -ffast-math and -ffinite-math-only break masks
// flags: -ffast-math
#include <ashlar/core/view.hpp>
