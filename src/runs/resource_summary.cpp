#include "runs/resource_summary.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "runs/growing_file.h"

namespace trainyard::runs {
namespace {

constexpr int64_t kMostBytes = 12 << 10;  // about a minute

double number_in(const Json& sample, std::string_view name) {
  const Json* value = sample.is_object() ? sample.find(name) : nullptr;
  return value != nullptr && value->is_number() ? value->as_number() : 0;
}

}  // namespace

std::optional<ResourceSummary> read_resource_summary(const std::filesystem::path& run) {
  const GrowingFile file(run / "utilization.jsonl");
  if (file.size() <= 0) return std::nullopt;
  const int64_t begin = std::max<int64_t>(0, file.size() - kMostBytes);
  std::vector<std::string> lines = split(file.read(begin, kMostBytes), '\n');
  if (begin > 0) lines.erase(lines.begin());
  ResourceSummary end;
  double count = 0;
  for (const std::string& line : lines) {
    if (line.empty() || line.back() != '}') continue;
    try {
      const Json sample = Json::parse(line, "a sample");
      const double process = number_in(sample, "process");
      end.process += process;
      end.others += std::max(0.0, number_in(sample, "machine") - process);
      end.memory_bytes = std::max(end.memory_bytes, number_in(sample, "memory_bytes"));
      count += 1;
    } catch (const Error&) {
      continue;  // torn
    }
  }
  if (count == 0) return std::nullopt;
  end.process /= count;
  end.others /= count;
  return end;
}

}  // namespace trainyard::runs
