#include "serve/fixture.h"

#include <arpa/inet.h>
#include <numeric>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "ops/builder.h"

namespace trainyard::serve {
namespace {

NetworkSource source_of(const std::function<Graph(int64_t)>& build) {
  NetworkSource source;
  const Graph graph = build(1);
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    onnx_io::DeclaredInput input{value.name, value.type.dtype, std::vector<onnx_io::DeclaredDim>{}};
    for (const int64_t dim : value.type.shape.dims()) input.dims->push_back({dim, ""});
    input.dims->front() = {std::nullopt, "batch"};
    source.declared.push_back(std::move(input));
  }
  source.build = [build](const onnx_io::ImportOptions& options) {
    return build(options.shapes.begin()->second[0]);
  };
  return source;
}

}  // namespace

NetworkSource sum_source() {
  return source_of([](int64_t batch) {
    Graph graph("sum");
    ops::Builder builder(graph);
    const TensorType type{DType::kI32, Shape{batch, 16}};
    const ValueId a = builder.input("INPUT0", type);
    const ValueId b = builder.input("INPUT1", type);
    graph.set_outputs(
        {builder.add("Add", {a, b}, {}, "OUTPUT0"), builder.add("Sub", {a, b}, {}, "OUTPUT1")});
    return graph;
  });
}

NetworkSource gather_source() {
  return table_source([] {
    const std::vector<float> numbers = {0, 1, 10, 11, 20, 21};
    return Tensor::of<float>(Shape{3, 2}, numbers);
  });
}

NetworkSource table_source(std::function<Tensor()> table) {
  return source_of([table = std::move(table)](int64_t batch) {
    Graph graph("gather");
    ops::Builder builder(graph);
    const ValueId index = builder.input("INDEX", {DType::kI64, Shape{batch}});
    graph.set_outputs(
        {builder.add("Gather", {builder.constant("table", table()), index}, {}, "OUT")});
    return graph;
  });
}

InferDone Answer::done() {
  return [state = state_](std::variant<InferResult, std::exception_ptr> value) {
    const std::lock_guard lock(state->mutex);
    state->value = std::move(value);
    state->changed.notify_all();
  };
}

InferResult Answer::get() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->value.has_value(); });
  if (auto* problem = std::get_if<std::exception_ptr>(&*state_->value)) {
    std::rethrow_exception(*problem);
  }
  return std::move(std::get<InferResult>(*state_->value));
}

InferRequest index_request(int64_t index) {
  InferRequest request;
  auto tensor = std::make_shared<Tensor>(Tensor::of<int64_t>(Shape{1}, {&index, 1}));
  request.inputs.push_back({.name = "INDEX",
                            .dtype = DType::kI64,
                            .shape = {1},
                            .data = static_cast<const std::byte*>(tensor->data()),
                            .bytes = 8});
  request.owners.push_back(std::move(tensor));
  request.times.arrived = Clock::now();
  return request;
}

InferRequest sum_request(int64_t rows, int32_t first) {
  InferRequest request;
  for (const char* name : {"INPUT0", "INPUT1"}) {
    auto tensor = std::make_shared<Tensor>(DType::kI32, Shape{rows, 16});
    const auto values = tensor->values<int32_t>();
    std::iota(values.begin(), values.end(), first);
    request.inputs.push_back({.name = name,
                              .dtype = DType::kI32,
                              .shape = {rows, 16},
                              .data = static_cast<const std::byte*>(tensor->data()),
                              .bytes = static_cast<size_t>(tensor->num_bytes())});
    request.owners.push_back(std::move(tensor));
  }
  request.times.arrived = Clock::now();
  return request;
}

Address listen_on_loopback(int socket) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&at), size), 0);
  EXPECT_EQ(listen(socket, 4), 0);
  EXPECT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size), 0);
  return {"127.0.0.1", ntohs(at.sin_port)};
}

}  // namespace trainyard::serve
