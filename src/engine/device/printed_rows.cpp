#include "engine/device/printed_rows.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"

namespace trainyard::device {
namespace {

constexpr int64_t kMostBytes = int64_t{16} << 20;
constexpr std::string_view kHeading = "program,launch,memory,";

// Each program prints the heading again; one is enough.
std::string with_one_heading(const std::string& text) {
  std::string out;
  bool seen = false;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    begin = end;
    const bool heading = line.starts_with(kHeading);
    // The lines that are left out keep their place, so that errors name the right one.
    out += heading && seen ? "\n" : line;
    seen = seen || heading;
  }
  return out;
}

double milliseconds(const CsvRow& row, std::string_view column) {
  const double ms = row.number(column);
  if (!(ms >= 0)) row.fail(column, "a time is not negative");
  return ms / 1e3;
}

VectorRow printed_row(const CsvRow& line) {
  VectorRow row;
  row.device = line.text("program");
  row.what.op = VectorOp::kAdd;
  row.what.launch = line.text("launch");
  row.what.elements = line.integer("elements");
  if (row.what.elements < 1) line.fail("elements", "expected 1 or more");
  const std::string& memory = line.text("memory");
  if (memory == "managed" || memory == "prefetched") {
    row.what.memory = "unified";
    row.what.sharing = memory;
  } else if (memory == "host" || memory == "copies") {
    row.what.memory = memory;
  } else {
    line.fail("memory", "expected host, copies, managed or prefetched");
  }
  row.timing.to_device_s = milliseconds(line, "to_device_ms");
  row.timing.first_kernel_s = milliseconds(line, "kernel_ms");
  row.timing.kernel_s = {row.timing.first_kernel_s};
  row.timing.from_device_s = milliseconds(line, "from_device_ms");
  row.timing.verified = line.text("result") == "right";
  row.measured_elements = row.what.elements;
  return row;
}

}  // namespace

std::vector<VectorRow> read_printed_rows(const std::filesystem::path& file) {
  const CsvTable table =
      CsvTable::parse(with_one_heading(read_file(file, kMostBytes)), file.string());
  table.require_columns({"program", "launch", "memory", "elements", "to_device_ms", "kernel_ms",
                         "from_device_ms", "result"});
  std::vector<VectorRow> rows;
  for (size_t i = 0; i < table.size(); ++i) rows.push_back(printed_row(table.row(i)));
  return rows;
}

}  // namespace trainyard::device
