// Golden cases on the scalar reference, on the double oracle, and what is not there yet, by name.
#include "oracle_model.hpp"
#include "oracle_ops.hpp"
#include "runners.hpp"

namespace golden {
namespace {

using OracleTable = std::map<std::string, void (*)(const OpCase&), std::less<>>;

const OracleTable& oracle_table() {
  static const OracleTable table = {{"rms_norm", by_oracle::rms_norm},
                                    {"layer_norm", by_oracle::layer_norm},
                                    {"rope", by_oracle::rope},
                                    {"activations", by_oracle::activations},
                                    {"glu", by_oracle::glu},
                                    {"softmax", by_oracle::softmax},
                                    {"attention", by_oracle::attention},
                                    {"alibi_slopes", by_oracle::alibi_slopes},
                                    {"t5_buckets", by_oracle::t5_buckets}};
  return table;
}
auto find_oracle(const OpCase& c) {
  return oracle_table().find(c.op().starts_with("attention_") ? "attention" : c.op());
}

Runners scalar_runners() {
  Runners run = all_runners<ashlar::backend::ScalarCpu>();
  run.real = real_first_prompt<ashlar::backend::ScalarCpu>;
  run.extras = {
      {"oracle", [](const OpCase& c) { return find_oracle(c) != oracle_table().end(); },
       [](const OpCase& c) { find_oracle(c)->second(c); }},
      {"frequencies", [](const OpCase& c) { return c.op() == "rope" && c.setting("scaling"); },
       rope_scaling},
      {"functors",
       [](const OpCase& c) {
         return c.op().starts_with("attention_") &&
                (c.setting("prefix") || c.setting("documents") || c.setting("block") ||
                 c.text("alibi_origin", "distance") == "key_index");
       },
       attention_functors},
      {"gradient",
       [](const OpCase& c) { return c.flag("gradient") || c.has("dx") || c.has("derivative"); },
       [](const OpCase&) { throw Unsupported{"gradients are not implemented yet"}; }}};
  run.oracle_model = by_oracle::model;
  return run;
}

[[maybe_unused]] const bool registered = register_cases(scalar_runners());

}  // namespace
}  // namespace golden
