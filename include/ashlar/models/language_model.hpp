// LanguageModel: a causal language model whose family and backend are known at run time only.
#pragma once

#include <ashlar/models/checkpoint.hpp>
#include <ashlar/models/model.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Numbers that programs print.
struct LanguageModelInfo {
  std::string family;
  std::string_view backend;
  index_t vocabulary = 0, d_model = 0, layers = 0, context_length = 0;
  index_t weight_bytes = 0;  // packed, in memory
};

/// Looks at the stream that enters each layer.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  /// x [B T, D]
  virtual void observe(index_t layer, MatrixView<const float> x) = 0;
};

namespace detail {
/// The observer as the function that models call; null looks at nothing.
inline auto observing(LayerObserver* observer) {
  return [observer](index_t layer, MatrixView<const float> x) {
    if (observer) observer->observe(layer, x);
  };
}
}  // namespace detail

/// Tokens are drawn from softmax(logits / temperature), cut by top-k, then top-p, then min-p.
struct DrawOptions {
  float temperature = 1.f;  // 0 takes the best token
  float top_p = 1.f;        // the shortest list of the best that reaches this probability
  float min_p = 0.f;        // tokens of at least this share of the best one's probability
  index_t top_k = 0;        // among so many of the best; 0: all
  std::uint64_t seed = 0;   // equal seeds give equal tokens
};

/// Draws tokens where the model is. The model outlives it.
class TokenDrawer {
 public:
  virtual ~TokenDrawer() = default;
  /// The token that follows the last one that the model has run; from the second call on the token
  /// before is run first. Throws ValueError when that does not fit.
  virtual std::int32_t next() = 0;
};

/// One model with one state. Made by load_language_model.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  virtual const LanguageModelInfo& info() const = 0;
  virtual HostContext& context() = 0;

  /// Begins `batch` sequences of at most `capacity` tokens each.
  /// Throws ValueError beyond the model's context.
  virtual void start(index_t batch, index_t capacity) = 0;
  /// Tokens that each sequence holds.
  virtual index_t length() const = 0;
  /// Bytes of the state.
  virtual index_t state_bytes() const = 0;
  /// Forgets the tokens from position `length` on.
  virtual void truncate(index_t length) = 0;
  /// Runs T more tokens of each sequence.
  /// Shapes   tokens [B, T], hidden [B T, D]: after the final norm
  virtual void forward(MatrixView<const std::int32_t> tokens, MatrixView<float> hidden,
                       LayerObserver* observer = nullptr) = 0;
  /// Shapes   hidden [M, D], logits [M, V]
  virtual void head(MatrixView<const float> hidden, MatrixView<float> logits) = 0;
  /// A way to draw tokens without the logits' coming to the host, for one sequence; null where
  /// there is none, as on the CPU. Throws ValueError for an option outside its range.
  virtual std::unique_ptr<TokenDrawer> drawer(const DrawOptions&) { return nullptr; }
};

/// A family's model on a backend.
template <class Family, Backend B>
class FamilyModel final : public LanguageModel {
  using Lm = CausalLm<typename Family::Spec>;

 public:
  template <class Progress>
  FamilyModel(const Checkpoint& checkpoint, Executor executor, Progress&& progress)
      : context_(executor), model_(load_model<Family>(checkpoint, executor, progress)) {
    const auto& c = model_.config;
    info_ = {std::string(Family::name),
             B::name,
             c.vocabulary,
             c.d_model,
             static_cast<index_t>(c.layers.size()),
             c.context_length,
             model_.store.bytes()};
    start(1, 0);
  }

  const LanguageModelInfo& info() const override { return info_; }
  HostContext& context() override { return context_; }
  void start(index_t batch, index_t capacity) override {
    state_ = std::make_unique<typename Lm::State>(model_.config, batch, capacity);
  }
  index_t length() const override { return state_->length(); }
  index_t state_bytes() const override { return state_->bytes(); }
  void truncate(index_t length) override { state_->truncate(length); }
  void forward(MatrixView<const std::int32_t> tokens, MatrixView<float> hidden,
               LayerObserver* observer) override {
    Lm::forward(context_, model_.config, model_.weights, *state_, tokens, hidden,
                detail::observing(observer));
  }
  void head(MatrixView<const float> hidden, MatrixView<float> logits) override {
    Lm::head(context_, model_.config, model_.weights, hidden, logits);
  }

 private:
  Context<B> context_;
  Model<Lm> model_;
  std::unique_ptr<typename Lm::State> state_;
  LanguageModelInfo info_;
};

/// Whether a checkpoint is of this family. GGUF's name of an architecture may be another one.
template <class Family>
bool is_family(const Checkpoint& checkpoint) {
  std::string_view name = Family::name;
  if constexpr (requires { Family::gguf_name; })
    if (checkpoint.gguf()) name = Family::gguf_name;
  if (checkpoint.family() != name) return false;
  if constexpr (requires { Family::accepts(checkpoint); }) return Family::accepts(checkpoint);
  return true;
}

/// A list of families (models/presets). Lists may hold lists: the kinds of one name, whose members
/// differ in their spec and say by accepts(checkpoint) which of them a checkpoint is.
template <class... Members>
struct Families {
  /// Calls f.operator()<Family>() for each family.
  template <class F>
  static void for_each(F&& f) {
    (visit<Members>(f), ...);
  }
  /// Whether a family has this name, in folders or in GGUF files.
  static bool contains(std::string_view name) {
    bool found = false;
    for_each([&]<class Family>() {
      found = found || name == Family::name;
      if constexpr (requires { Family::gguf_name; }) found = found || name == Family::gguf_name;
    });
    return found;
  }
  /// Whether a checkpoint is of one of them.
  static bool accepts(const Checkpoint& checkpoint) {
    bool found = false;
    for_each([&]<class Family>() { found = found || is_family<Family>(checkpoint); });
    return found;
  }
  /// Calls f.operator()<Family>() for the first one that a checkpoint is of. Throws ValueError if
  /// it is of none.
  template <class F>
  static void with_family_of(const Checkpoint& checkpoint, F&& f) {
    bool found = false;
    for_each([&]<class Family>() {
      if (found || !is_family<Family>(checkpoint)) return;
      found = true;
      f.template operator()<Family>();
    });
    if (!found)
      fail<ValueError>(checkpoint.path(), ": model family is ", detail::quote(checkpoint.family()),
                       ", supported: ", names());
  }
  /// Their names, each once.
  static std::string names() {
    std::string list;
    std::string_view last;
    for_each([&]<class Family>() {
      if (Family::name != last) list += (list.empty() ? "" : ", ") + std::string(Family::name);
      last = Family::name;
    });
    return list;
  }

 private:
  template <class Member, class F>
  static void visit(F& f) {
    if constexpr (requires { Member::names(); })
      Member::for_each(f);
    else
      f.template operator()<Member>();
  }
};

/// Opens a checkpoint with the family that it names, among those of the list: a family that a
/// program does not name costs it no compile time.
///   load_language_model<backend::SimdCpu, LlamaFamily, Gpt2Family>("model.gguf", executor,
///   progress)
/// `progress(done, total)` is told the bytes. Throws FileError, ValueError.
template <Backend B, class... Members, class Progress>
std::unique_ptr<LanguageModel> load_language_model(const Checkpoint& checkpoint, Executor executor,
                                                   Progress&& progress) {
  std::unique_ptr<LanguageModel> model;
  Families<Members...>::with_family_of(checkpoint, [&]<class Family>() {
    model = std::make_unique<FamilyModel<Family, B>>(checkpoint, executor, progress);
  });
  return model;
}

}  // namespace ashlar::inline ASHLAR_ABI
