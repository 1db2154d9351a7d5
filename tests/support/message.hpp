// What an error says.
#pragma once

#include <string>

namespace support {

/// The message of the E that f throws; empty when it throws none.
template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

}  // namespace support
