// The part of GoogleTest that the device's tests use, for programs that nvcc compiles: it is read
// in no time and asks nothing of a machine that has CUDA only.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace testing {

class Message {
 public:
  Message() = default;
  template <class T>
  explicit Message(const T& x) {
    *this << x;
  }
  template <class T>
  Message& operator<<(const T& x) {
    if constexpr (requires(std::ostringstream & s) { s << x; }) {
      std::ostringstream stream;
      stream.precision(9);
      stream << x;
      text_ += stream.str();
    } else {
      text_ += "(an object)";
    }
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class AssertionResult {
 public:
  explicit AssertionResult(bool success) : success_(success) {}
  explicit operator bool() const { return success_; }
  template <class T>
  AssertionResult& operator<<(const T& x) {
    message_ << x;
    return *this;
  }
  const std::string& text() const { return message_.text(); }

 private:
  bool success_;
  Message message_;
};
inline AssertionResult AssertionSuccess() { return AssertionResult(true); }
inline AssertionResult AssertionFailure() { return AssertionResult(false); }

namespace internal {

struct Test {
  std::string name;
  void (*body)();
};
inline std::vector<Test> tests;
inline std::vector<std::string> traces;
inline int failures = 0;  // of the test that runs

inline int add_test(const char* suite, const char* name, void (*body)()) {
  tests.push_back({std::string(suite) + "." + name, body});
  return 0;
}
inline void report(const char* file, int line, const std::string& text) {
  if (++failures > 8) return;  // the first ones say it
  std::printf("%s:%d: %s\n", file, line, text.c_str());
  for (const std::string& trace : traces) std::printf("  with %s\n", trace.c_str());
}

struct Trace {
  template <class T>
  explicit Trace(const T& x) {
    if constexpr (requires { x.text(); })
      traces.push_back(x.text());
    else
      traces.push_back(Message(x).text());
  }
  ~Trace() { traces.pop_back(); }
};

/// A failure that takes what is streamed to it, reported at the end of the statement.
class Failure {
 public:
  Failure(const char* file, int line, std::string what)
      : file_(file), line_(line), what_(std::move(what)) {}
  ~Failure() { report(file_, line_, what_ + more_.text()); }
  template <class T>
  Failure& operator<<(const T& x) {
    more_ << x;
    return *this;
  }

 private:
  const char* file_;
  int line_;
  std::string what_;
  Message more_;
};
struct Void {  // turns `return Void() & Failure(..) << ..` into a statement of a void function
  void operator&(const Failure&) const {}
};

struct Verdict {
  bool passed;
  std::string what;
};
template <class T>
Verdict truth(const T& x, bool expected, const char* text) {
  const bool value = static_cast<bool>(x);
  if (value == expected) return {true, ""};
  std::string what = std::string(text) + " is " + (value ? "true" : "false");
  if constexpr (requires { x.text(); }) what += ": " + x.text();
  return {false, what + " "};
}
template <class A, class B, class F>
Verdict compare(const A& a, const B& b, F holds, const char* relation, const char* text_a,
                const char* text_b) {
  if (holds(a, b)) return {true, ""};
  return {false, (Message() << text_a << " " << relation << " " << text_b << ", which are " << a
                            << " and " << b << " ")
                     .text()};
}
/// Values of a comparison, so that a NULL pointer or an int beside an unsigned number compares.
struct Equal {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool> &&
                  !std::is_same_v<B, bool>)
      return std::cmp_equal(a, b);
    else
      return a == b;
  }
};

inline bool matches(const std::string& name, const char* filter) {
  return filter == nullptr || name.find(filter) != std::string::npos;
}

}  // namespace internal

/// Runs the tests whose name contains a filter; 0 when all passed and there was one.
inline int run_all(const char* filter) {
  int run = 0, failed = 0;
  for (const internal::Test& test : internal::tests) {
    if (!internal::matches(test.name, filter)) continue;
    std::printf("[ RUN      ] %s\n", test.name.c_str());
    std::fflush(stdout);
    internal::failures = 0;
    const auto start = std::chrono::steady_clock::now();
    try {
      test.body();
    } catch (const std::exception& e) {
      internal::report(test.name.c_str(), 0, e.what());
    }
    internal::traces.clear();
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    const bool bad = internal::failures != 0;
    std::printf("%s %s (%.0f ms)\n", bad ? "[  FAILED  ]" : "[       OK ]", test.name.c_str(), ms);
    std::fflush(stdout);
    ++run;
    failed += bad;
  }
  std::printf("%d of %d tests passed\n", run - failed, run);
  return run > 0 && failed == 0 ? 0 : 1;
}

}  // namespace testing

#define TEST(suite, name)                                                   \
  static void suite##_##name##_body();                                      \
  [[maybe_unused]] static const int suite##_##name##_added =                \
      ::testing::internal::add_test(#suite, #name, &suite##_##name##_body); \
  static void suite##_##name##_body()

#define ASHLAR_STAND_IN_CHECK(verdict, leave)                                             \
  if (const ::testing::internal::Verdict ashlar_verdict = verdict; ashlar_verdict.passed) \
    ;                                                                                     \
  else                                                                                    \
    leave ::testing::internal::Failure(__FILE__, __LINE__, ashlar_verdict.what)
#define ASHLAR_STAND_IN_RETURN return ::testing::internal::Void()&

#define ADD_FAILURE() ::testing::internal::Failure(__FILE__, __LINE__, "")
#define FAIL() ASHLAR_STAND_IN_RETURN ADD_FAILURE()
#define SCOPED_TRACE(x) const ::testing::internal::Trace ashlar_trace(x)

#define EXPECT_TRUE(x) ASHLAR_STAND_IN_CHECK(::testing::internal::truth(x, true, #x), )
#define EXPECT_FALSE(x) ASHLAR_STAND_IN_CHECK(::testing::internal::truth(x, false, #x), )
#define ASSERT_TRUE(x) \
  ASHLAR_STAND_IN_CHECK(::testing::internal::truth(x, true, #x), ASHLAR_STAND_IN_RETURN)

#define ASHLAR_STAND_IN_COMPARE(a, b, relation, holds, leave) \
  ASHLAR_STAND_IN_CHECK(::testing::internal::compare(a, b, holds, relation, #a, #b), leave)
#define ASHLAR_STAND_IN_ORDER(relation) [](const auto& p, const auto& q) { return p relation q; }
#define EXPECT_EQ(a, b) ASHLAR_STAND_IN_COMPARE(a, b, "==", ::testing::internal::Equal{}, )
#define ASSERT_EQ(a, b) \
  ASHLAR_STAND_IN_COMPARE(a, b, "==", ::testing::internal::Equal{}, ASHLAR_STAND_IN_RETURN)
#define EXPECT_NE(a, b) \
  ASHLAR_STAND_IN_COMPARE(a, b, "!=", std::not_fn(::testing::internal::Equal{}), )
#define EXPECT_LE(a, b) ASHLAR_STAND_IN_COMPARE(a, b, "<=", ASHLAR_STAND_IN_ORDER(<=), )
#define EXPECT_LT(a, b) ASHLAR_STAND_IN_COMPARE(a, b, "<", ASHLAR_STAND_IN_ORDER(<), )
#define EXPECT_GE(a, b) ASHLAR_STAND_IN_COMPARE(a, b, ">=", ASHLAR_STAND_IN_ORDER(>=), )
#define EXPECT_GT(a, b) ASHLAR_STAND_IN_COMPARE(a, b, ">", ASHLAR_STAND_IN_ORDER(>), )
#define EXPECT_NEAR(a, b, most) \
  ASHLAR_STAND_IN_COMPARE(      \
      a, b, "is near",          \
      [&](double p, double q) { return std::abs(p - q) <= static_cast<double>(most); }, )
#define EXPECT_STREQ(a, b) \
  ASHLAR_STAND_IN_COMPARE( \
      a, b, "reads", [](const char* p, const char* q) { return std::strcmp(p, q) == 0; }, )
