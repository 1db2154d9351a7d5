#include "text_encoders.hpp"

#include <ashlar/eigen.hpp>
#include <ashlar/models/presets/bert.hpp>
#include <ashlar/models/presets/modernbert.hpp>
#include <ashlar/models/presets/roberta.hpp>
#include <ashlar/simd.hpp>

namespace ashlar::examples {

using Encoders = Families<BertFamily, RobertaFamily, XlmRobertaFamily, ModernBertFamily>;

bool is_text_encoder(const Checkpoint& checkpoint) { return Encoders::accepts(checkpoint); }

std::unique_ptr<TextEncoder> load_any_text_encoder(const Checkpoint& checkpoint,
                                                   std::string_view backend, Executor executor,
                                                   ProgressLine& progress) {
  if (backend == "scalar")
    return load_text_encoder<backend::ScalarCpu, Encoders>(checkpoint, executor, progress);
  if (backend == "simd")
    return load_text_encoder<backend::SimdCpu, Encoders>(checkpoint, executor, progress);
  if (backend == "eigen")
    return load_text_encoder<backend::EigenCpu, Encoders>(checkpoint, executor, progress);
  fail<ValueError>("backend is \"", backend, "\", expected scalar, simd or eigen");
}

}  // namespace ashlar::examples
