// Wires over sockets of Asio, plain and with TLS.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "http/wire.h"

namespace trainyard::serve {

// `Stream` reads and writes; the socket below it is what is stopped and closed.
template <typename Stream>
class StreamWire : public Wire {
 public:
  template <typename... Args>
  explicit StreamWire(Args&&... args) : stream_(std::forward<Args>(args)...) {}

  void read_some(char* data, size_t size, std::shared_ptr<WireUser> user) override {
    stream_.async_read_some(
        boost::asio::buffer(data, size),
        [user = std::move(user)](const boost::system::error_code& problem, size_t bytes) {
          user->on_read(problem ? 0 : bytes);
        });
  }

  void write(std::string_view first, std::string_view second,
             std::shared_ptr<WireUser> user) override {
    const std::array<boost::asio::const_buffer, 2> buffers = {
        boost::asio::buffer(first.data(), first.size()),
        boost::asio::buffer(second.data(), second.size())};
    boost::asio::async_write(stream_, buffers,
                             [user = std::move(user)](const boost::system::error_code& problem,
                                                      size_t) { user->on_written(!problem); });
  }

  bool has_input() override {
    boost::system::error_code problem;
    return stream_.lowest_layer().available(problem) > 0;
  }

  void finish_writing() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }

  void stop() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().cancel(ignored);
  }

  void close() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.lowest_layer().close(ignored);
  }

 protected:
  Stream stream_;
};

class PlainWire final : public StreamWire<boost::asio::ip::tcp::socket> {
 public:
  using StreamWire::StreamWire;
  void open(std::shared_ptr<WireUser> user) override {
    boost::asio::post(stream_.get_executor(), [user = std::move(user)] { user->on_open(true); });
  }
};

class TlsWire final : public StreamWire<boost::asio::ssl::stream<boost::asio::ip::tcp::socket>> {
 public:
  using StreamWire::StreamWire;
  void open(std::shared_ptr<WireUser> user) override {
    stream_.async_handshake(boost::asio::ssl::stream_base::server,
                            [user = std::move(user)](const boost::system::error_code& problem) {
                              user->on_open(!problem);
                            });
  }
};

}  // namespace trainyard::serve
