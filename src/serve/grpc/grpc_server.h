// The Open Inference Protocol v2 over gRPC, on the same models and queues as over HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "http/http_server.h"
#include "serve/listener.h"
#include "serve/service.h"

namespace trainyard::serve {

struct GrpcOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8001;  // 0: any that is free
  size_t message_bytes = size_t{64} << 20;
  std::chrono::seconds idle{75};  // then a connection without calls is closed
  TlsFiles tls;
};

// Throws Failure if the address is taken, Error if the TLS files are no use. The service outlives
// what is returned.
std::unique_ptr<Listener> listen_grpc(const GrpcOptions& options, Service& service);

}  // namespace trainyard::serve
