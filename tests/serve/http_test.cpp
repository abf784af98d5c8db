// The whole server over real sockets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "data/compress.h"
#include "http/http_server.h"
#include "serve/fixture.h"
#include "serve/load/load.h"
#include "serve/load/load_client.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

constexpr std::string_view kSixteen = "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]";

std::string sum_json(std::string_view extra = "") {
  return fmt::format(
      R"({{"inputs":[{{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":{0}}},)"
      R"({{"name":"INPUT1","datatype":"INT32","shape":[1,16],"data":{0}}}]{1}}})",
      kSixteen, extra);
}

class HttpTest : public ::testing::Test {
 protected:
  explicit HttpTest(ServiceOptions service = {}, HttpLimits limits = {})
      : registry_([] {
          RegistryOptions options;
          options.cores = 2;
          return options;
        }()) {
    ModelConfig config;
    config.name = "sum";
    registry_.add(config, sum_source());
    config.name = "gather";
    registry_.add(config, gather_source());
    service_.emplace(std::move(service), registry_);
    HttpOptions options;
    options.port = 0;
    options.limits = limits;
    server_.emplace(options, *service_);
    address_ = {"127.0.0.1", server_->port()};
    thread_ = std::thread([this] { server_->run(); });
  }
  ~HttpTest() override {
    server_->stop(std::chrono::seconds(5));
    thread_.join();
    registry_.shut_down(std::chrono::seconds(5));
  }

  Fetched get(const std::string& path, std::string_view headers = "") {
    return fetch(address_, http_message("GET", path, address_, headers, ""));
  }
  Fetched post(const std::string& path, std::string_view body, std::string_view headers = "") {
    return fetch(address_, http_message("POST", path, address_, headers, body));
  }
  // Sends bytes as they are and reads until the server closes.
  std::string raw(std::string_view bytes) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address_.port);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t count = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    std::string answer;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = recv(fd, buffer, sizeof buffer, 0)) > 0) {
      answer.append(buffer, static_cast<size_t>(count));
    }
    close(fd);
    return answer;
  }
  static std::string error_in(const Fetched& fetched) {
    return Json::parse(fetched.body, "answer").at("error").as_string();
  }

  Registry registry_;
  std::optional<Service> service_;
  std::optional<HttpServer> server_;
  Address address_;
  std::thread thread_;
};

TEST_F(HttpTest, DescribesItselfAndItsModels) {
  EXPECT_EQ(get("/v2/health/live").status, 200);
  EXPECT_EQ(get("/v2/health/ready").status, 200);
  registry_.begin_start();
  EXPECT_EQ(get("/v2/health/live").status, 200);
  EXPECT_EQ(get("/v2/health/ready").status, 503);
  EXPECT_EQ(get("/v2/models/other").status, 503);
  EXPECT_EQ(get("/v2/models/sum").status, 200);
  registry_.end_start();
  EXPECT_EQ(get("/v2/models/other").status, 404);
  EXPECT_EQ(Json::parse(get("/v2").body, "").at("name").as_string(), "trainyard");
  EXPECT_EQ(get("/v2/models/sum").body,
            R"({"name":"sum","versions":["1"],"platform":"onnxruntime_onnx",)"
            R"("inputs":[{"name":"INPUT0","datatype":"INT32","shape":[-1,16]},)"
            R"({"name":"INPUT1","datatype":"INT32","shape":[-1,16]}],)"
            R"("outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[-1,16]},)"
            R"({"name":"OUTPUT1","datatype":"INT32","shape":[-1,16]}]})");
  EXPECT_EQ(get("/v2/models/sum/versions/1/ready").status, 200);
  EXPECT_NE(get("/v2/models/sum/config").body.find("\"max_batch_size\":8"), std::string::npos);
  EXPECT_NE(post("/v2/repository/index", "").body.find(R"("state":"READY")"), std::string::npos);
}

TEST_F(HttpTest, InfersAndEchoes) {
  const Fetched answer =
      post("/v2/models/sum/infer",
           sum_json(R"(,"id":"7","parameters":{"p":1},"outputs":[{"name":"OUTPUT0"}])"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body,
            R"({"model_name":"sum","model_version":"1","id":"7","parameters":{"p":1},"outputs":)"
            R"([{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],)"
            R"("data":[0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30]}]})");
  const Json stats = Json::parse(get("/v2/models/sum/stats").body, "");
  EXPECT_EQ(stats.at("model_stats").items()[0].at("inference_count").as_int(), 1);
  EXPECT_NE(
      get("/metrics").body.find("nv_inference_request_success{model=\"sum\",version=\"1\"} 1"),
      std::string::npos);
}

// Triton's extension, as its clients send it: texts, lists of one, null for what was before.
TEST_F(HttpTest, TracesAsMuchAsItIsTold) {
  const auto events = [&] {
    return Json::parse(get("/trace").body, "").at("traceEvents").items().size();
  };
  const auto infer = [&] { EXPECT_EQ(post("/v2/models/sum/infer", sum_json()).status, 200); };
  EXPECT_NE(get("/v2/trace/setting").body.find(R"("trace_level":["OFF"])"), std::string::npos);
  infer();
  EXPECT_EQ(events(), 0U);
  const Fetched on = post("/v2/models/sum/trace/setting",
                          R"({"trace_level":["TIMESTAMPS"],"trace_rate":"1","trace_count":2})");
  EXPECT_EQ(on.status, 200) << on.body;
  for (int i = 0; i < 3; ++i) infer();
  const size_t two = events();
  EXPECT_GT(two, 0U);
  infer();
  EXPECT_EQ(events(), two);  // two were asked for
  EXPECT_NE(get("/v2/models/sum/trace/setting").body.find(R"("trace_count":"0")"),
            std::string::npos);
  EXPECT_NE(get("/v2/trace/setting").body.find(R"("trace_level":["OFF"])"), std::string::npos);
  const Fetched back = post("/v2/models/sum/trace/setting", R"({"trace_level":null})");
  EXPECT_NE(back.body.find(R"("trace_level":["OFF"])"), std::string::npos);
  EXPECT_EQ(post("/v2/trace/setting", R"({"trace_file":"/tmp/x"})").status, 400);
  EXPECT_EQ(post("/v2/trace/setting", R"({"trace_rate":"0"})").status, 400);
  EXPECT_EQ(post("/v2/trace/setting", R"({"trace_level":"ALL"})").status, 400);
  EXPECT_EQ(post("/v2/trace/setting", R"({"other":"1"})").status, 400);
  EXPECT_EQ(get("/v2/models/none/trace/setting").status, 404);
}

TEST_F(HttpTest, HasNoSharedMemoryAndNoUploadsUnlessToldSo) {
  EXPECT_EQ(get("/v2/systemsharedmemory/status").status, 501);
  EXPECT_EQ(post("/v2/systemsharedmemory/region/x/register", "{}").status, 501);
  EXPECT_EQ(get("/v2/cudasharedmemory/status").body, "[]");
  EXPECT_EQ(post("/v2/cudasharedmemory/unregister", "").status, 200);
  EXPECT_EQ(post("/v2/repository/models/new/load",
                 R"({"parameters":{"config":"{}","file:1/model.onnx":"AAAA"}})")
                .status,
            501);
}

TEST_F(HttpTest, AnswersWrongRequestsWithTheRightStatus) {
  EXPECT_EQ(get("/v2/models/none").status, 404);
  EXPECT_NE(error_in(get("/v2/models/sun")).find("Did you mean sum"), std::string::npos);
  EXPECT_EQ(get("/v2/models/sum/versions/2").status, 404);
  EXPECT_EQ(get("/v2/models/..%2f..%2fetc").status, 404);
  EXPECT_EQ(post("/v2/repository/models/..%2fsum/load", "").status, 400);
  EXPECT_EQ(get("/nowhere").status, 404);
  EXPECT_EQ(get("/v2/models/%zz").status, 400);
  EXPECT_EQ(get("/v2/models/sum/infer").status, 405);
  EXPECT_EQ(post("/v2", "{}").status, 405);
  EXPECT_EQ(post("/v2/models/sum/infer", "{").status, 400);
  EXPECT_EQ(post("/v2/models/sum/infer", std::string(100'000, '[')).status, 400);
  EXPECT_EQ(post("/v2/models/sum/infer", sum_json(), "Content-Encoding: br\r\n").status, 415);
  EXPECT_EQ(post("/v2/models/sum/infer", "junk", "Content-Encoding: gzip\r\n").status, 400);
  EXPECT_EQ(
      post("/v2/models/sum/infer", sum_json(), "Inference-Header-Content-Length: x\r\n").status,
      400);
  EXPECT_EQ(post("/v2/models/gather/infer",
                 R"({"inputs":[{"name":"INDEX","datatype":"INT64","shape":[1],"data":[99]}]})")
                .status,
            400);
  EXPECT_NE(raw("POST /v2/models/sum/infer HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n")
                .find(" 411 "),
            std::string::npos);
  EXPECT_NE(raw("nonsense\r\n\r\n").find(" 400 "), std::string::npos);
  EXPECT_NE(raw("GET ?x HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n").find(" 404 "),
            std::string::npos);
  EXPECT_NE(raw("GET /v2 HTTP/1.1\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n").find(" 431 "),
            std::string::npos);
  EXPECT_NE(
      raw("POST /v2/models/sum/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
          .find(" 413 "),
      std::string::npos);
}

TEST_F(HttpTest, TakesChunksPipelinesAndExpectations) {
  const std::string json = sum_json();
  const std::string half = json.substr(0, 10);
  const std::string rest = json.substr(10);
  const std::string chunked = fmt::format(
      "POST /v2/models/sum/infer HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: "
      "chunked\r\nConnection: "
      "close\r\n\r\n"
      "{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
      half.size(), half, rest.size(), rest);
  EXPECT_NE(raw(chunked).find("\"data\":[0,2,4"), std::string::npos);
  const std::string pipelined = raw(
      "GET /v2 HTTP/1.1\r\nHost: [::1]\r\n\r\nGET /v2/health/live HTTP/1.1\r\nHost: [::1]\r\n\r\n"
      "GET /nowhere HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n");
  EXPECT_LT(pipelined.find("extensions"), pipelined.find("\"live\""));
  EXPECT_LT(pipelined.find("\"live\""), pipelined.find(" 404 "));
  const std::string expecting =
      raw(fmt::format("POST /v2/models/sum/infer HTTP/1.1\r\nHost: [::1]\r\nExpect: "
                      "100-continue\r\nContent-Length: {}\r\n"
                      "Connection: close\r\n\r\n{}",
                      json.size(), json));
  EXPECT_TRUE(expecting.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"));
}

TEST_F(HttpTest, CountersAreNamedAsPrometheusWants) {
  ASSERT_EQ(post("/v2/models/sum/infer", sum_json()).status, 200);
  for (const char* name : {"request_bytes", "response_bytes", "http_responses"}) {
    EXPECT_NE(get("/metrics").body.find(fmt::format("# TYPE trainyard_{}_total counter", name)),
              std::string::npos)
        << name;
  }
}

TEST_F(HttpTest, CompressesBothWays) {
  const std::string body = data::compress(sum_json(), data::Compression::kGzip);
  EXPECT_EQ(post("/v2/models/sum/infer", body, "Content-Encoding: gzip\r\n").status, 200);
  const Fetched packed = get("/metrics", "Accept-Encoding: gzip, deflate\r\n");
  EXPECT_NE(packed.head.find("Content-Encoding: gzip"), std::string::npos);
  data::PieceInflater unpacked(packed.body, 1 << 20, "");
  EXPECT_FALSE(unpacked.go_on(1 << 20));
  EXPECT_NE(unpacked.take().find("nv_inference_count"), std::string::npos);
  for (const char* none : {"gzip;q=0", "gzip;q=0.0", "gzip;q=0.000, deflate; q=0.0"}) {
    const Fetched plain = get("/metrics", fmt::format("Accept-Encoding: {}\r\n", none));
    EXPECT_EQ(plain.head.find("Content-Encoding"), std::string::npos) << none;
  }
  EXPECT_NE(get("/metrics", "Accept-Encoding: gzip;q=0.5\r\n").head.find("Content-Encoding: gzip"),
            std::string::npos);
}

TEST_F(HttpTest, AnswersTheOlderCalls) {
  const std::string json = fmt::format(
      R"({{"inputs":{{"INPUT0":{{"dims":["1","16"],"dataType":6,"int32Data":{0}}},)"
      R"("INPUT1":{{"dims":[1,16],"data_type":"INT32","int32_data":{0}}}}},"outputFilter":["OUTPUT0"]}})",
      kSixteen);
  const Fetched answer = post("/v1/models/sum/versions/1:predict", json,
                              "Content-Type: application/json\r\nx-ms-client-request-id: abc\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.head.find("x-ms-client-request-id: abc"), std::string::npos);
  EXPECT_NE(answer.head.find("x-ms-request-id: "), std::string::npos);
  EXPECT_NE(
      answer.body.find(R"("OUTPUT0":{"dims":["1","16"],"dataType":6,"rawData":"AAAAAAIAAAAE)"),
      std::string::npos);
  EXPECT_EQ(post("/v1/models/sum:predict", json).status, 400);
  // {2: {1: "INPUT0", 2: {dims 1, 16, data_type 6, raw_data}}} twice.
  std::string proto;
  for (const std::string name : {"INPUT0", "INPUT1"}) {
    const std::string tensor =
        std::string("\x08\x01\x08\x10\x10\x06\x4a\x40", 8) + std::string(64, '\x01');
    const std::string entry =
        std::string("\x0a\x06") + name + "\x12" + static_cast<char>(tensor.size()) + tensor;
    proto += std::string("\x12") + static_cast<char>(entry.size()) + entry;
  }
  const Fetched binary =
      post("/v1/models/sum:predict", proto, "Content-Type: application/x-protobuf\r\n");
  EXPECT_EQ(binary.status, 200) << binary.body;
  EXPECT_NE(binary.head.find("application/octet-stream"), std::string::npos);
  EXPECT_NE(binary.body.find(std::string(64, '\x02')), std::string::npos);
}

TEST_F(HttpTest, StandsALoadWithoutWrongAnswers) {
  LoadOptions options;
  options.url = fmt::format("http://127.0.0.1:{}", address_.port);
  options.model = "sum";
  options.concurrency = {1, 8};
  options.seconds = 0.3;
  options.warm_up = 0.05;
  for (const LoadRow& row : run_load(options, {})) {
    EXPECT_GT(row.requests, 0);
    EXPECT_EQ(row.errors + row.wrong + row.rejected, 0);
    EXPECT_EQ(row.answered, row.requests);
    EXPECT_LE(row.p50_ms.value(), row.p90_ms.value());
    EXPECT_GT(row.server_cores.value_or(0), 0);
  }
}

TEST_F(HttpTest, SurvivesClientsThatLeave) {
  const std::string message =
      http_message("POST", "/v2/models/sum/infer", address_, "", sum_json());
  for (size_t cut = 1; cut < message.size(); cut += 37) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address_.port);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    send(fd, message.data(), cut, MSG_NOSIGNAL);
    close(fd);
  }
  EXPECT_EQ(post("/v2/models/sum/infer", sum_json()).status, 200);
}

ServiceOptions strict_service() {
  ServiceOptions options;
  options.token = "secret";
  options.requests_per_s = 20;
  return options;
}

HttpLimits short_limits() {
  HttpLimits limits;
  limits.connections = 3;
  limits.idle = std::chrono::seconds(1);
  limits.header = std::chrono::seconds(1);
  limits.body_bytes = 1 << 20;
  return limits;
}

class ImpatientTest : public HttpTest {
 protected:
  ImpatientTest() : HttpTest(strict_service(), short_limits()) {}
};

TEST_F(ImpatientTest, WantsATokenInTimeAndNotTooOften) {
  EXPECT_EQ(get("/v2").status, 401);
  EXPECT_EQ(get("/v2/health/live").status, 200);
  EXPECT_EQ(get("/v2", "Authorization: Bearer secreT\r\n").status, 401);
  EXPECT_EQ(get("/v2", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_NE(raw("GET /v2 HTT").find(" 408 "), std::string::npos);
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    refused += get("/v2", "Authorization: Bearer secret\r\n").status == 429 ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
  // Connections end on their own threads.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  LoadClient three(address_, 3);
  EXPECT_EQ(get("/v2").status, 503);
}

// It is still sending when it is refused, and reads the answer afterwards.
TEST_F(ImpatientTest, AnswersAClientThatSendsTooMuch) {
  const std::string much(8 << 20, 'x');
  const std::string head = fmt::format(
      "POST /v2/models/sum/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", much.size());
  EXPECT_NE(raw(head + much).find(" 413 "), std::string::npos);
}

// A port of this machine that takes connections and answers nothing.
struct SilentPort {
  SilentPort() { address = listen_on_loopback(fd); }
  ~SilentPort() { shut(); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  void shut() {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  int fd = socket(AF_INET, SOCK_STREAM, 0);
  Address address;
};

int64_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Answers how far the first tensor of a body is from where kernels like it.
class AlignmentHandler final : public HttpHandler {
 public:
  void handle(const HttpRequest& request, Reply reply) override {
    const size_t json = std::stoul(std::string(request.header("Inference-Header-Content-Length")));
    const auto tensor = reinterpret_cast<uintptr_t>(request.body->data()) + json;
    std::string text = fmt::format("{} {}", tensor % 64, std::string(request.body->substr(0, 5)));
    reply([text = std::move(text)] { return HttpResponse{.body = text}; });
  }
  void refused(Status, std::string_view) override {}
};

TEST(HttpServer, PutsTheFirstTensorAtAnAlignedAddress) {
  AlignmentHandler handler;
  HttpOptions options;
  options.port = 0;
  HttpServer server(options, handler);
  const Address address{"127.0.0.1", server.port()};
  std::thread thread([&] { server.run(); });
  for (const size_t json : {0, 1, 63, 64, 137, 99'999}) {
    std::string body(100'000, 'j');
    body.replace(0, 5, "begin");
    const Fetched fetched = fetch(
        address, http_message("POST", "/", address,
                              fmt::format("inference-header-content-length: {}\r\n", json), body));
    EXPECT_EQ(fetched.body, "0 begin") << json;
  }
  // A length that is none of this server's is the reader's to refuse, not to follow.
  const std::string huge = "Inference-Header-Content-Length: 18446744073709551615\r\n";
  EXPECT_EQ(fetch(address, http_message("POST", "/", address, huge, "begin and")).body, "0 begin");
  server.stop(std::chrono::seconds(5));
  thread.join();
}

TEST(LoadClient, AServerThatNeverAnswersIsGivenUp) {
  const SilentPort port;
  const std::string message = http_message("GET", "/v2", port.address, "", "");
  EXPECT_THROW(fetch(port.address, message, std::chrono::milliseconds(20)), Failure);
}

TEST(LoadClient, LeavesNothingOpenIfTheServerIsNotThere) {
  SilentPort port;
  port.shut();
  const int64_t before = open_descriptors();
  EXPECT_THROW(LoadClient(port.address, 2), Failure);
  EXPECT_EQ(open_descriptors(), before);
}

// The number of the connection is someone else's by the time the client ends.
TEST(LoadClient, ClosesAConnectionOnceIfItCannotBeOpenedAgain) {
  SilentPort port;
  std::vector<int> others;
  {
    LoadClient client(port.address, 1);
    close(accept(port.fd, nullptr, nullptr));
    port.shut();
    const auto wait = [&] {
      for (int i = 0; i < 50; ++i) client.wait(std::chrono::milliseconds(100), {});
    };
    EXPECT_THROW(wait(), Failure);
    for (int i = 0; i < 8; ++i) others.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  for (const int fd : others) {
    EXPECT_NE(fcntl(fd, F_GETFD), -1) << fd;
    close(fd);
  }
}

}  // namespace
}  // namespace trainyard::serve
