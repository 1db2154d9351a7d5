// What a model costs, and which model a budget buys.
#include "common/program.hpp"
#include "presets.hpp"
#include "table.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::examples;

void print_budget(double compute) {
  Table table;
  const plan::Allocation c = plan::chinchilla(compute), k = plan::kaplan(compute);
  const auto loss = [](const plan::Allocation& a) {
    return formatted("%.3f", plan::chinchilla_loss(a.parameters, a.tokens));
  };
  table.add(formatted("%.3g operations", compute), {"Chinchilla 2022", "Kaplan 2020"});
  table.add("  parameters", {as_count(c.parameters), as_count(k.parameters)});
  table.add("  tokens", {as_count(c.tokens), as_count(k.tokens)});
  table.add("  tokens a parameter", {formatted("%.0f", c.tokens / c.parameters),
                                     formatted("%.1f", k.tokens / k.parameters)});
  table.add("  loss by Chinchilla's law, nats a token", {loss(c), loss(k)});
  std::printf("%s\n", table.text().c_str());
}

void print_habits(const Costs& m) {
  const double n = static_cast<double>(m.parameters.non_embedding());
  std::printf(
      "\nHabits: AdamW with weight decay %.1f; no dropout in one pass over the data; peak learning "
      "rate %s %.1e\n",
      plan::weight_decay, n > 1e9 ? "below" : "about", plan::learning_rate(std::min(n, 1e9)));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  CostOptions options;
  plan::ShapeWishes wishes;
  double compute = 0, parameters = 0;
  bool list = false, plain = false;

  CLI::App app(
      "Prints what models cost: parameters, bytes, operations, caches, training; a column a\n"
      "model. Or proposes a model for a budget: --flops for its training, or --parameters.\n"
      "docs/plan.md says how each number is counted.",
      "plan");
  app.add_option("models", names, "Presets, .gguf files, or folders with config.json")
      ->type_name("MODEL");
  app.add_flag("--list", list, "Print the names of the presets");
  app.add_option("--flops", compute, "Propose a model that so many operations train best")
      ->type_name("1e21")
      ->check(CLI::PositiveNumber);
  app.add_option("--parameters", parameters, "Propose a model of so many parameters")
      ->type_name("135e6")
      ->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", wishes.vocabulary, "Entries of the proposal's vocabulary")
      ->type_name("N")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--aspect", wishes.aspect, "Width / layers that the proposal aims at")
      ->type_name("X")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--group", wishes.query_heads_per_kv_head, "Query heads that share a key head")
      ->type_name("N")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_flag("--plain", plain, "A feed-forward without a gate: GPT-2's block");
  app.add_option("--context", options.context, "Tokens of a sequence; 0 takes the model's context")
      ->type_name("N")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--prompt", options.prompt, "Tokens of a prompt")
      ->type_name("N")
      ->check(at_least(1))
      ->capture_default_str();

  return run_program(app, argc, argv, [&] {
    if (list) {
      for (const Preset& p : presets()) std::printf("%s\n", p.name.c_str());
      return;
    }
    wishes.gated = !plain;
    if (plain) wishes.query_heads_per_kv_head = 1;
    std::vector<Costs> models;
    for (const std::string& name : names) models.push_back(costs_of(name, options));
    const std::size_t given = models.size();
    if (compute > 0) {
      print_budget(compute);
      const plan::Shape s = plan::propose(plan::chinchilla(compute).parameters, wishes);
      models.push_back(costs_of("for --flops", s, options));
    }
    if (parameters > 0)
      models.push_back(costs_of("for --parameters", plan::propose(parameters, wishes), options));
    if (models.empty())
      fail<ValueError>("give a model, --flops, --parameters or --list; --help says more");
    std::printf("%s", cost_table(models).c_str());
    if (models.size() > given) print_habits(models.back());
  });
}
