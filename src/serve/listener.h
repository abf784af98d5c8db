// Another protocol on the same models.
#pragma once

#include <string>

namespace trainyard::serve {

// Listens while it lives. It is to end after the models, which answer what it has asked.
class Listener {
 public:
  Listener() = default;
  virtual ~Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // What clients are told, as "grpc://127.0.0.1:8001".
  virtual std::string address() const = 0;
};

}  // namespace trainyard::serve
