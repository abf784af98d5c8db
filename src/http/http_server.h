// The sockets: accepts connections and runs their sessions on a few threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/http.h"

namespace trainyard::serve {

struct TlsFiles {
  std::string certificate;  // PEM, with the chain; empty: no TLS
  std::string key;
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;  // 0: any that is free
  int threads = 0;       // of the sockets; 0: as many as cores
  HttpLimits limits;
  TlsFiles tls;
};

class HttpServer {
 public:
  // Listens from now on. Throws Failure if the address is taken, Error if it is none or the TLS
  // files are no use. The handler outlives the server.
  HttpServer(HttpOptions options, HttpHandler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  // On a thread of the sockets: once SIGTERM or SIGINT comes, and whenever SIGHUP does. Neither
  // throws. To be set before run().
  void on_signals(std::function<void()> end, std::function<void()> reload);
  // Serves until all is finished after stop().
  void run();
  // Reads the TLS files again, for connections to come. From any thread. Throws Error, and goes on
  // with the old ones, if they are no use.
  void reload_tls();
  // Accepts no more; requests under way, and those that clients had sent by then, are answered
  // within the limit, then run() returns. From any thread.
  void stop(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::serve
