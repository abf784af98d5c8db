// Messages of inference requests over gRPC.
#include <string>

#include "base/error.h"
#include "http/status.h"
#include "serve/grpc/infer_messages.h"

using namespace trainyard::serve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto message = Body(std::string(reinterpret_cast<const char*>(data), size));
  try {
    read_infer_message(message);
  } catch (const trainyard::Error&) {  // the answers to a message that is wrong
  } catch (const RequestError&) {
  }
  return 0;
}
