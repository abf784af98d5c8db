// One connection's bytes, plain or encrypted.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace trainyard::serve {

// Who waits for a wire. Called from the loop of the thread of the sockets, never from within the
// call that asked for it.
class WireUser {
 public:
  virtual void on_open(bool ok) = 0;
  // 0 bytes: the other side has closed, or the connection broke, or stop() was called.
  virtual void on_read(size_t bytes) = 0;
  virtual void on_written(bool ok) = 0;

 protected:
  WireUser() = default;
  ~WireUser() = default;
  WireUser(const WireUser&) = default;
  WireUser& operator=(const WireUser&) = default;
};

// Everything happens on the thread of the sockets. Users are kept until they have been called.
class Wire {
 public:
  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Once, before anything else.
  virtual void open(std::shared_ptr<WireUser> user) = 0;
  virtual void read_some(char* data, size_t size, std::shared_ptr<WireUser> user) = 0;
  // Both texts must live until the user is called.
  virtual void write(std::string_view first, std::string_view second,
                     std::shared_ptr<WireUser> user) = 0;
  // Something has come that was not read yet.
  virtual bool has_input() = 0;
  // Tells the other side that nothing more comes; it can still be read from.
  virtual void finish_writing() = 0;
  // Lets what is under way end at once; the connection can still be written to.
  virtual void stop() = 0;
  virtual void close() = 0;
};

}  // namespace trainyard::serve
