// grpc.health.v1, which orchestrators ask whether a server may be sent requests.
#pragma once

#include <string>
#include <string_view>

namespace trainyard::serve {

inline constexpr std::string_view kHealthCheck = "/grpc.health.v1.Health/Check";

// Whether a HealthCheckRequest asks for the server as a whole or for its one service. Throws Error
// for what is no such message.
bool asks_for_this_server(std::string_view message);

// A HealthCheckResponse.
std::string health_answer(bool serving);

}  // namespace trainyard::serve
