// One connection's bytes, plain or encrypted.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace trainyard::serve {

// Everything happens on the thread of the sockets; callbacks are called from its loop, never from
// within the call that asked for them.
class Wire {
 public:
  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Once, before anything else.
  virtual void open(std::function<void(bool ok)> done) = 0;
  // 0 bytes: the other side has closed, or the connection broke, or stop() was called.
  virtual void read_some(char* data, size_t size, std::function<void(size_t)> done) = 0;
  // Both texts must live until `done`.
  virtual void write(std::string_view first, std::string_view second,
                     std::function<void(bool ok)> done) = 0;
  // Lets what is under way end at once; the connection can still be written to.
  virtual void stop() = 0;
  virtual void close() = 0;
};

}  // namespace trainyard::serve
