// The whole server: models, service, sockets.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <vector>

#include "http/http_server.h"
#include "models/network.h"
#include "serve/listener.h"
#include "serve/models/registry.h"
#include "serve/service.h"

namespace trainyard::serve {

struct ServerOptions {
  RegistryOptions registry;
  ServiceOptions service;
  HttpOptions http;
  // Models that are in no repository.
  struct Model {
    ModelConfig config;
    network::Request request;
  };
  std::vector<Model> models;
  // Of these models; empty: what each says of itself.
  std::vector<std::string> labels;
  std::optional<PictureInput> picture;
  std::chrono::milliseconds drain{10'000};       // after SIGTERM
  std::function<std::string()> read_token = {};  // anew, on SIGHUP; null: it stays
  std::string trace_file;                        // written at the end; empty: none
  // Starts another protocol beside HTTP; null: there is none.
  std::function<std::unique_ptr<Listener>(Service&)> listen = {};
};

// Serves until SIGTERM or SIGINT, then finishes what is under way. SIGHUP reads token, TLS files
// and repository again. `out` gets the address and what to try once the models are ready. Returns
// the exit code.
int run_server(const ServerOptions& options, std::ostream& out);

}  // namespace trainyard::serve
