// Errors: one hierarchy, one way to raise them, with and without exceptions.
#pragma once

#include <ashlar/core/types.hpp>
#include <cstdio>
#include <cstdlib>
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

inline std::string to_text(std::string_view s) { return std::string(s); }
inline std::string to_text(const char* s) { return s; }
inline std::string to_text(const std::string& s) { return s; }
inline std::string to_text(bool b) { return b ? "true" : "false"; }
template <class N>
requires std::is_arithmetic_v<N> std::string to_text(N n) {
  if constexpr (std::is_integral_v<N>) {
    return std::to_string(n);
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(n));
    return text;
  }
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
  std::string text;
  ((text += detail::to_text(parts)), ...);
  return text;
}

/// Raises E with the parts joined to one message; without exceptions calls the handler and aborts.
template <class E = Error, class... Parts>
[[noreturn]] ASHLAR_NOINLINE void fail(const Parts&... parts) {
#if ASHLAR_EXCEPTIONS
  throw E(join(parts...));
#else
  detail::error_handler(join(parts...).c_str());
  std::abort();
#endif
}

}  // namespace ashlar::inline ASHLAR_ABI
