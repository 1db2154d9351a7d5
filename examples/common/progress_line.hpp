// One line on the terminal that says how far a long step is.
#pragma once

#include <ashlar/core/types.hpp>
#include <cstdio>
#include <string>
#include <utility>

#if defined(_WIN32)
#  include <io.h>
#else
#  include <unistd.h>
#endif

namespace ashlar::examples {

/// "label 42 %" on stderr, wiped out at the end. Nothing when stderr is not a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(std::string label, bool quiet = false)
      : label_(std::move(label)), shown_(!quiet && is_terminal()) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (percent_ >= 0) std::fputs("\r\033[K", stderr);
  }

  void operator()(index_t done, index_t total) {
    const auto percent = static_cast<int>(
        total > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 100.0);
    if (!shown_ || percent == percent_) return;
    percent_ = percent;
    std::fprintf(stderr, "\r%s %d %%", label_.c_str(), percent);
  }

 private:
  static bool is_terminal() {
#if defined(_WIN32)
    return _isatty(2) != 0;
#else
    return isatty(2) != 0;
#endif
  }

  std::string label_;
  bool shown_;
  int percent_ = -1;
};

}  // namespace ashlar::examples
