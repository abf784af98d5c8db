// libFuzzer target: tables of measurements; see fuzz.h.
#include "base/csv.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] {
    const CsvTable table = CsvTable::parse(fuzz::text_of(data, size), "fuzz");
    for (size_t i = 0; i < table.size(); ++i) {
      for (const std::string& column : table.columns()) {
        fuzz::read_or_refuse([&] { table.row(i).number(column); });
      }
    }
  });
}
