// libFuzzer target: metrics.jsonl of a run, read and gone on with; see fuzz.h.
#include "fuzz/fuzz.h"
#include "runs/metrics.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] {
    const auto path = fuzz::write("metrics.jsonl", fuzz::text_of(data, size));
    runs::read_metrics(path);
    runs::MetricsWriter(path, 3).append(Json::object({{"step", 4}}));
    runs::read_metrics(path);
  });
}
