// The load generator's connections beside servers that do not keep to the protocol.
#include "serve/load/load_client.h"

#include <array>
#include <atomic>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "serve/fixture.h"
#include "serve/load/view.h"

namespace trainyard::serve {
namespace {

// A port of this machine. One connection after the other, it sends the text as often as told,
// asked or not, and waits for the client to go.
class RudeServer {
 public:
  RudeServer(std::string text, int times) {
    address_ = listen_on_loopback(fd_);
    thread_ = std::thread([this, text = std::move(text), times] { serve(text, times); });
  }
  ~RudeServer() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  RudeServer(const RudeServer&) = delete;
  RudeServer& operator=(const RudeServer&) = delete;

  const Address& address() const { return address_; }
  int visitors() const { return visitors_; }

 private:
  void serve(const std::string& text, int times) {
    while (true) {
      const int peer = accept(fd_, nullptr, nullptr);
      if (peer < 0) return;
      ++visitors_;
      bool there = true;
      for (int i = 0; i < times && there; ++i) {
        there = send(peer, text.data(), text.size(), MSG_NOSIGNAL) > 0;
      }
      std::array<char, 4096> asked{};
      while (recv(peer, asked.data(), asked.size(), 0) > 0) {
      }
      close(peer);
    }
  }

  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Address address_;
  std::atomic<int> visitors_ = 0;
  std::thread thread_;
};

std::string answer_of(const RudeServer& server) {
  const std::string message = http_message("GET", "/v2", server.address(), "", "");
  return error_of([&] { fetch(server.address(), message, std::chrono::seconds(2)); });
}

TEST(LoadClient, RefusesABodyThatIsTooLarge) {
  for (const char* length : {"1073741825", "18446744073709551615", "99999999999999999999999"}) {
    const RudeServer server(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", length),
                            1);
    EXPECT_EQ(answer_of(server), "the server answers with more than 1024 MiB") << length;
  }
}

TEST(LoadClient, RefusesAHeadWithoutAnEnd) {
  const RudeServer server(std::string(32 << 10, 'x'), 1 << 12);
  EXPECT_EQ(answer_of(server), "the server answers with a head of more than 64 KiB");
}

// Else it would keep all of them.
TEST(LoadClient, LeavesAConnectionWhoseServerTalksUnasked) {
  const RudeServer server("HTTP/1.1 408 Request Timeout\r\n\r\n", 1);
  LoadClient client(server.address(), 1);
  for (int i = 0; i < 50 && server.visitors() < 2; ++i) {
    client.wait(std::chrono::milliseconds(100), {});
  }
  EXPECT_GE(server.visitors(), 2);
}

TEST(LoadRow, HasNoPercentileThatItsAnswersCannotTell) {
  std::vector<double> times = {5};
  EXPECT_FALSE(percentile_of({}, 0.5));
  EXPECT_FALSE(percentile_of(times, 0.5));
  EXPECT_FALSE(percentile_of(times, 0.99));
  for (int i = 6; i < 15; ++i) times.push_back(i);
  EXPECT_EQ(percentile_of(times, 0.5), 9);
  EXPECT_EQ(percentile_of(times, 0.9), 13);
  EXPECT_FALSE(percentile_of(times, 0.95));
  times.resize(99, 20);
  EXPECT_FALSE(percentile_of(times, 0.99));
  times.resize(100, 20);
  EXPECT_EQ(percentile_of(times, 0.99), 20);
  const Json row = report::object_of(cli::load_fields(), LoadRow{.requests = 1, .answered = 1});
  EXPECT_TRUE(row.at("p99_ms").is_null());
  EXPECT_EQ(row.at("answered").as_int(), 1);
}

}  // namespace
}  // namespace trainyard::serve
