// The sockets: accepts connections and runs their sessions on a few threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "serve/http/http.h"

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
  // On a thread of the sockets, once SIGTERM or SIGINT comes. To be set before run().
  void on_signal(std::function<void()> callback);
  // Serves until all is finished after stop().
  void run();
  // Accepts no more; requests under way are answered within the limit, then run() returns. From
  // any thread.
  void stop(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::serve
