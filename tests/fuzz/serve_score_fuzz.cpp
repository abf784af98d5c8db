// Bodies of ONNX Runtime Server's calls, as protobuf and as JSON, and models' configurations.
#include <string>

#include "base/error.h"
#include "http/status.h"
#include "serve/models/model_config.h"
#include "serve/protocol/score_codec.h"

using namespace trainyard::serve;

namespace {

template <typename F>
void attempt(F&& f) {
  try {
    f();
  } catch (const trainyard::Error&) {  // the answers to a body that is wrong
  } catch (const RequestError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Body body(std::string(reinterpret_cast<const char*>(data), size));
  attempt([&] { read_score_protobuf(body); });
  attempt([&] { read_score_json(body); });
  attempt([&] { read_config(parse_text_config(*body, "fuzz").tree, {}, "fuzz"); });
  return 0;
}
