// What a backend is tested with.
#pragma once

#include "model_checks.hpp"
#include "op_attention.hpp"
#include "op_rope.hpp"
#include "op_rows.hpp"
#include "registry.hpp"

namespace golden {

template <class B>
Runners all_runners() {
  Runners run;
  run.backend = std::string(B::name);
  run.ops = {{"rms_norm", rms_norm<B>},
             {"layer_norm", layer_norm<B>},
             {"norm_gradients", norm_gradients<B>},
             {"qk_norm", qk_norm<B>},
             {"rope", rope<B>},
             {"activations", activations<B>},
             {"glu", glu<B>},
             {"softmax", softmax<B>},
             {"attention", attention<B>},
             {"sinusoidal", sinusoidal<B>},
             {"t5_buckets", t5_buckets},
             {"alibi_slopes", alibi_slopes}};
  run.model = model<B>;
  run.real = real_model<B>;
  return run;
}

}  // namespace golden
