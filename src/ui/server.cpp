#include "ui/server.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

namespace trainyard::ui {

int run_server(const ServerOptions& options, std::ostream& out) {
  constexpr std::chrono::seconds kDrain{2};
  Service service(options.service);
  serve::HttpServer server(options.http, service);
  server.on_signals(
      [&] {
        service.drain();
        server.stop(kDrain);
      },
      [] {});
  const std::string& host = options.http.host;
  fmt::print(out, "{} runs\npage  http://{}:{}/\n", service.num_runs(),
             host.find(':') == std::string::npos ? host : "[" + host + "]", server.port());
  out.flush();
  server.run();
  return 0;
}

}  // namespace trainyard::ui
