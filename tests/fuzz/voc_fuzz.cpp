// libFuzzer target: annotations of pictures, as Pascal VOC's XML and as COCO's JSON; see fuzz.h.
#include "data/boxes/coco.h"
#include "data/boxes/voc.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  const auto text = fuzz::text_of(data, size);
  fuzz::read_or_refuse([&] { trainyard::data::read_coco(text, "fuzz"); });
  fuzz::read_or_refuse([&] { trainyard::data::read_coco_results(text, "fuzz"); });
  return fuzz::read_or_refuse([&] { trainyard::data::read_voc_annotation(text, "fuzz"); });
}
