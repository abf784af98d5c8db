// A connection's bytes, in pieces of sizes that the first byte chooses.
#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "http/connection_slots.h"
#include "http/http_session.h"

using namespace trainyard::serve;

namespace {

std::vector<std::function<void()>> pending;

// Hands out the input and swallows the answers.
class FuzzWire final : public Wire {
 public:
  FuzzWire(std::string_view bytes, size_t piece) : left_(bytes), piece_(piece) {}

  void open(std::shared_ptr<WireUser> user) override {
    pending.push_back([user = std::move(user)] { user->on_open(true); });
  }
  void read_some(char* data, size_t size, std::shared_ptr<WireUser> user) override {
    const size_t count = std::min({size, piece_, left_.size()});
    std::memcpy(data, left_.data(), count);
    left_.remove_prefix(count);
    pending.push_back([user = std::move(user), count] { user->on_read(count); });
  }
  void write(std::string_view, std::string_view, std::shared_ptr<WireUser> user) override {
    pending.push_back([user = std::move(user)] { user->on_written(true); });
  }
  bool has_input() override { return false; }
  void finish_writing() override {}
  void stop() override {}
  void close() override {}

 private:
  std::string_view left_;
  size_t piece_;
};

class FuzzThread final : public SocketThread {
 public:
  void respond(std::shared_ptr<HttpSession> who, std::function<HttpResponse()> make) override {
    pending.push_back([who = std::move(who), make = std::move(make)] { who->respond(make()); });
  }
  void later(std::function<void()> work) override { pending.push_back(std::move(work)); }
};

class Echo final : public HttpHandler {
 public:
  void handle(const HttpRequest& request, Reply reply) override {
    reply([body = std::string(request.target)] { return error_response(Status::kOk, body); });
  }
  void refused(Status, std::string_view) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  static Echo echo;
  static FuzzThread thread;
  static ConnectionSlots slots(2, 2);
  static const HttpLimits limits = [] {
    HttpLimits small;
    small.body_bytes = 1 << 16;
    return small;
  }();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto session =
      std::make_shared<HttpSession>(std::make_unique<FuzzWire>(bytes, size_t{1} + data[0]), "peer",
                                    echo, limits, thread, slots.take("peer"));
  session->start();
  session.reset();
  while (!pending.empty()) {
    std::vector<std::function<void()>> now;
    now.swap(pending);
    for (const auto& work : now) work();
  }
  return 0;
}
