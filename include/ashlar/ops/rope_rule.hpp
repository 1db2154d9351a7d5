// RopeRule: what decides the angles of rotary positions.
#pragma once

#include <ashlar/core/types.hpp>
#include <ashlar/ops/rope.hpp>
#include <memory>

namespace ashlar::inline ASHLAR_ABI {

/// The length that a scaling rule's frequencies depend on.
enum class RopeLength {
  none,
  call,     // where a call ends: chunks of a prompt are not the whole prompt's
  sequence  // what the sequence was made for, so that all its keys are turned alike
};

/// Changes the frequencies of (theta, r) for a length, in tokens; r is the rotary width, or
/// RopeRule's `shares`. A rule that looks at the length says so: static constexpr RopeLength
/// depends_on. Rules are in rope_scaling.hpp; yours may be one.
template <class R>
concept RopeScalingRule = requires(const R& rule, RopeFrequencies& f, double theta, index_t r) {
  rule.apply(f, theta, r, r);
  static_cast<bool>(rule == rule);
};

/// One of these rules, or none. It does not change, so copies share it: the configurations of a
/// model's layers all hold it, at the cost of a pointer.
class RopeScaling {
 public:
  RopeScaling() = default;
  template <class R>
  requires(!std::is_same_v<R, RopeScaling> && RopeScalingRule<R>) RopeScaling(R rule)
      : RopeScaling(std::unique_ptr<const Rule>(new Holder<R>(std::move(rule)))) {}

  /// The rule, or null if it is of another type.
  template <class R>
  const R* get_if() const {
    return rule_ && rule_->type() == &Holder<R>::tag
               ? &static_cast<const Holder<R>*>(rule_.get())->rule
               : nullptr;
  }
  RopeLength depends_on() const { return rule_ ? rule_->depends_on() : RopeLength::none; }
  void apply(RopeFrequencies& f, double theta, index_t r, index_t length) const {
    if (rule_) rule_->apply(f, theta, r, length);
  }
  friend bool operator==(const RopeScaling& a, const RopeScaling& b) {
    return a.rule_ == b.rule_ ||
           (a.rule_ && b.rule_ && a.rule_->type() == b.rule_->type() && a.rule_->equals(*b.rule_));
  }

 private:
  struct Rule {
    virtual ~Rule() = default;
    virtual const char* type() const = 0;
    virtual RopeLength depends_on() const = 0;
    virtual void apply(RopeFrequencies& f, double theta, index_t r, index_t length) const = 0;
    virtual bool equals(const Rule& of_same_type) const = 0;
  };
  template <class R>
  struct Holder final : Rule {
    static constexpr char tag = 0;  // its address stands for the type
    R rule;

    explicit Holder(R r) : rule(std::move(r)) {}
    const char* type() const override { return &tag; }
    RopeLength depends_on() const override {
      if constexpr (requires { R::depends_on; })
        return R::depends_on;
      else
        return RopeLength::none;
    }
    void apply(RopeFrequencies& f, double theta, index_t r, index_t length) const override {
      rule.apply(f, theta, r, length);
    }
    bool equals(const Rule& other) const override {
      return rule == static_cast<const Holder&>(other).rule;
    }
  };

  ASHLAR_NOINLINE explicit RopeScaling(std::unique_ptr<const Rule> rule) : rule_(std::move(rule)) {}

  std::shared_ptr<const Rule> rule_;
};

/// What decides a table of cosines and sines beside the positions.
struct RopeRule {
  double theta = 10000.0;
  index_t width = -1;  // r, the rotated elements of a head: to be given, 0 rotates nothing
  RopeScaling scaling{};
  // What the exponents are shares of; -1: the width. GPT-NeoX's code rotates an odd width r, the
  // last element with the one after it, as r + 1 elements with exponents over r.
  index_t shares = -1;

  bool operator==(const RopeRule&) const = default;
  bool depends_on_length() const { return scaling.depends_on() != RopeLength::none; }
  /// The length that counts in a call which ends at `end` tokens, of sequences that were made for
  /// `capacity` tokens (0: not known).
  index_t length_of(index_t end, index_t capacity) const {
    return scaling.depends_on() == RopeLength::sequence ? max_index(end, capacity) : end;
  }
  /// For a length in tokens.
  RopeFrequencies frequencies(index_t length = 0) const {
    RopeFrequencies f = rope_frequencies(theta, width, shares);
    scaling.apply(f, theta, shares < 0 ? width : shares, length);
    return f;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
