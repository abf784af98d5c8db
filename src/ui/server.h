// The pages of run directories, until the process is told to end.
#pragma once

#include <ostream>

#include "http/http_server.h"
#include "ui/service.h"

namespace trainyard::ui {

struct ServerOptions {
  ServiceOptions service;
  serve::HttpOptions http;
};

// Serves until SIGTERM or SIGINT. `out` gets the address once it listens. Returns the exit code.
int run_server(const ServerOptions& options, std::ostream& out);

}  // namespace trainyard::ui
