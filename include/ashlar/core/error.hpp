// Errors: one hierarchy, one way to raise them, with and without exceptions.
#pragma once

#include <ashlar/core/types.hpp>
#include <ashlar/core/utf8.hpp>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace ashlar::inline ASHLAR_ABI {

/// Root of everything that this library throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// An extent or rank that does not fit.
class ShapeError : public Error {
 public:
  using Error::Error;
};
/// A number, option or token outside its range, or one that a kernel cannot honour.
class ValueError : public Error {
 public:
  using Error::Error;
};
/// A file that cannot be read, is malformed, or lacks what was asked for.
class FileError : public Error {
 public:
  using Error::Error;
};

/// Called before abort() in builds without exceptions; replace it with set_error_handler.
using ErrorHandler = void (*)(const char* message);

namespace detail {
inline void print_error(const char* message) { std::fprintf(stderr, "ashlar: %s\n", message); }
inline ErrorHandler error_handler = &print_error;

/// A part of a message: text or a number. One type for all, so that one function joins them.
class Part {
 public:
  Part(std::string_view text) : kind_(Kind::text), text_(text) {}
  Part(long long n) : kind_(Kind::integer), integer_(n) {}
  Part(unsigned long long n) : kind_(Kind::natural), natural_(n) {}
  Part(double x) : kind_(Kind::real), real_(x) {}
  template <class N>
  requires std::is_arithmetic_v<N> Part(N n) : Part(widest(n)) {}

  void append_to(std::string& message) const {
    char number[32];
    switch (kind_) {
      case Kind::text:
        message += text_;
        return;
      case Kind::integer:
        std::snprintf(number, sizeof number, "%lld", integer_);
        break;
      case Kind::natural:
        std::snprintf(number, sizeof number, "%llu", natural_);
        break;
      case Kind::real:
        std::snprintf(number, sizeof number, "%.9g", real_);
    }
    message += number;
  }

 private:
  template <class N>
  static auto widest(N n) {
    if constexpr (std::is_same_v<N, bool>)
      return std::string_view(n ? "true" : "false");
    else if constexpr (std::is_floating_point_v<N>)
      return static_cast<double>(n);
    else if constexpr (std::is_signed_v<N>)
      return static_cast<long long>(n);
    else
      return static_cast<unsigned long long>(n);
  }

  enum class Kind { text, integer, natural, real } kind_;
  union {
    std::string_view text_;
    long long integer_;
    unsigned long long natural_;
    double real_;
  };
};

inline std::string join_parts(std::initializer_list<Part> parts) {
  std::string message;
  for (const Part& part : parts) part.append_to(message);
  return message;
}
/// Parts may come from a file: no byte of them reaches a terminal as a control character.
template <class E>
[[noreturn]] ASHLAR_NOINLINE void fail_with(std::initializer_list<Part> parts) {
  const std::string message = printable(join_parts(parts), true);
#if ASHLAR_EXCEPTIONS
  throw E(message);
#else
  error_handler(message.c_str());
  std::abort();
#endif
}
}  // namespace detail

/// Replaces the handler of builds without exceptions. Returns the one before.
inline ErrorHandler set_error_handler(ErrorHandler handler) {
  ErrorHandler before = detail::error_handler;
  detail::error_handler = handler ? handler : &detail::print_error;
  return before;
}

/// Joins the parts (text and numbers) to one string.
template <class... Parts>
std::string join(const Parts&... parts) {
  return detail::join_parts({detail::Part(parts)...});
}

/// Raises E with the parts joined to one message; without exceptions calls the handler and aborts.
template <class E = Error, class... Parts>
[[noreturn]] ASHLAR_INLINE void fail(const Parts&... parts) {
  detail::fail_with<E>({detail::Part(parts)...});
}

}  // namespace ashlar::inline ASHLAR_ABI
