#include "api/session.h"

#include <algorithm>

#include "base/error.h"
#include "base/stopwatch.h"
#include "engine/compiler.h"

namespace trainyard::api {
namespace {

constexpr size_t kMostPlans = 4;

runtime::Executable compile_request(const network::Request& request, int threads) {
  runtime::CompileOptions options;
  options.threads = threads;
  options.seed = 1;
  options.share_constants = true;  // plans for other shapes keep the same weights
  return runtime::compile(network::load(request), options);
}

}  // namespace

Session::Session(network::Request request, int threads)
    : request_(std::move(request)),
      threads_(threads),
      executable_(compile_request(request_, threads)) {
  std::vector<Shape> own;
  for (const runtime::Port& port : executable_.inputs()) own.push_back(port.type.shape);
  plans_.push_front({std::move(own), std::make_unique<runtime::ExecutionContext>(executable_)});
}

runtime::Executable Session::compile_for(const std::vector<Shape>& shapes) const {
  network::Request request = request_;
  if (network::is_path(request.model)) {
    for (size_t i = 0; i < shapes.size(); ++i) request.shapes[inputs()[i].name] = shapes[i];
    request.batch.reset();
  } else if (!shapes.empty() && shapes[0].rank() > 0) {
    request.batch = shapes[0].dims()[0];
  }
  return compile_request(request, threads_);
}

runtime::ExecutionContext& Session::context_for(const std::vector<Shape>& shapes) {
  const auto found = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const Plan& plan) { return plan.shapes == shapes; });
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
    return *plans_.front().context;
  }
  plans_.push_front({shapes, std::make_unique<runtime::ExecutionContext>(compile_for(shapes))});
  if (plans_.size() > kMostPlans) plans_.pop_back();
  return *plans_.front().context;
}

void Session::run(std::span<const Tensor> tensors) {
  TY_REQUIRE(tensors.size() == inputs().size(), "{} tensors for {} inputs", tensors.size(),
             inputs().size());
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  runtime::ExecutionContext& context = context_for(shapes);
  for (size_t i = 0; i < tensors.size(); ++i) context.lend_input(i, tensors[i]);
  const Stopwatch engine;
  context.run();
  engine_seconds_ = engine.seconds();
}

const Tensor& Session::output(size_t index) const {
  return plans_.front().context->output(index);
}

}  // namespace trainyard::api
