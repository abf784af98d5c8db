#include "base/terminal.h"

#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse_number.h"

namespace trainyard {

size_t terminal_columns(int file) {
  constexpr size_t kFewest = 20;
  constexpr size_t kMost = 10'000;
  size_t columns = 0;
  if (const char* set = std::getenv("COLUMNS")) {
    columns = parse_number<size_t>(set).value_or(0);
  }
  winsize size{};
  if (columns == 0 && ::ioctl(file, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns < kFewest || columns > kMost ? 0 : columns;
}

}  // namespace trainyard
