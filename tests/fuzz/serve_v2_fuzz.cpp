// Bodies of inference requests: JSON, JSON with binary tensors, raw bytes. The first two bytes say
// how long the JSON is.
#include <span>
#include <string>

#include "base/error.h"
#include "http/status.h"
#include "serve/protocol/v2_codec.h"

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
  if (size < 2) return 0;
  const size_t json_bytes = data[0] | static_cast<size_t>(data[1]) << 8;
  const auto body = Body(std::string(reinterpret_cast<const char*>(data) + 2, size - 2));
  static const std::vector<TensorSpec> kOpen = {{"x", trainyard::DType::kF32, {-1, -1}}};
  static const std::vector<TensorSpec> kFixed = {{"x", trainyard::DType::kI64, {-1, 3}}};
  attempt([&] { read_v2_request(body, std::nullopt); });
  attempt([&] { read_v2_request(body, json_bytes); });
  attempt([&] { read_v2_raw(body, kOpen, false); });
  attempt([&] { read_v2_raw(body, kFixed, true); });
  return 0;
}
