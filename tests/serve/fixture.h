// Small networks and requests for tests of the server.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "ir/graph.h"
#include "serve/load/load_client.h"
#include "serve/models/registry.h"

namespace trainyard::serve {

// INPUT0 and INPUT1, i32[batch, 16]: OUTPUT0 is their sum, OUTPUT1 their difference.
NetworkSource sum_source();
// INDEX, i64[batch]: OUT, f32[batch, 2], is that row of a table of three; others are an Error.
NetworkSource gather_source();
// The same with another table.
NetworkSource table_source(std::function<Tensor()> table);

// Waits for an answer and gives it, or throws what went wrong.
class Answer {
 public:
  InferDone done();
  InferResult get();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::variant<InferResult, std::exception_ptr>> value;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Of sum_source(): rows of numbers that begin with `first`.
InferRequest sum_request(int64_t rows, int32_t first);
// Of gather_source().
InferRequest index_request(int64_t index);

// Makes a socket listen on some free port of this machine.
Address listen_on_loopback(int socket);

// The text of the error that f() throws; empty if it throws none.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace trainyard::serve
