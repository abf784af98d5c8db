#include "serve/grpc/health_messages.h"

#include "base/wire.h"

namespace trainyard::serve {

// {1: service}
bool asks_for_this_server(std::string_view message) {
  std::string_view service;
  WireReader reader({reinterpret_cast<const std::byte*>(message.data()), message.size()});
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number != 1 || field.type != WireType::kBytes) continue;
    service = {reinterpret_cast<const char*>(field.content.data()), field.content.size()};
  }
  return service.empty() || service == "inference.GRPCInferenceService";
}

// {1: status}
std::string health_answer(bool serving) {
  constexpr uint64_t kServing = 1;
  constexpr uint64_t kNotServing = 2;
  std::string message;
  append_tag(message, 1, WireType::kVarint);
  append_varint(message, serving ? kServing : kNotServing);
  return message;
}

}  // namespace trainyard::serve
