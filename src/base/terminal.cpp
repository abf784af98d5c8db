#include "base/terminal.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace trainyard {

size_t terminal_columns() {
  constexpr size_t kFewest = 20;
  constexpr size_t kMost = 10'000;
  size_t columns = 0;
  if (const char* set = std::getenv("COLUMNS")) {
    const std::string_view text = set;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (failure != std::errc() || end != text.data() + text.size()) columns = 0;
  }
  winsize size{};
  if (columns == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns < kFewest || columns > kMost ? 0 : columns;
}

}  // namespace trainyard
