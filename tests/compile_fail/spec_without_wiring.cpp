// expect: Wiring
#include <ashlar/ashlar.hpp>

using namespace ashlar;

struct MyWiring {};  // lacks the template Block<Spec>
struct MySpec : LlamaSpec {
#if !defined(FIXED)
  using Wiring = MyWiring;
#endif
};

DecoderBlock<MySpec>::Config config;
