#include "api/session.h"

#include <algorithm>
#include <list>

#include "base/error.h"
#include "base/stopwatch.h"
#include "engine/compiler.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::api {
namespace {

constexpr size_t kMostPlans = 4;

runtime::Executable compile_model(const Model& model, int threads) {
  runtime::CompileOptions options;
  options.threads = threads;
  options.seed = 1;
  options.share_constants = true;  // plans for other shapes keep the same weights
  return runtime::compile(model.graph(), options);
}

std::vector<Port> ports_of_plan(const std::vector<runtime::Port>& ports) {
  std::vector<Port> copies;
  for (const runtime::Port& port : ports) copies.push_back({port.name, port.type});
  return copies;
}

}  // namespace

struct Session::Impl {
  struct Plan {
    std::vector<Shape> shapes;
    std::unique_ptr<runtime::ExecutionContext> context;
  };

  Impl(Model network, int thread_count);
  runtime::ExecutionContext& context_for(const std::vector<Shape>& shapes);

  Model model;
  int threads;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::list<Plan> plans;  // the last used first
  double engine_seconds = 0;
};

Session::Impl::Impl(Model network, int thread_count)
    : model(std::move(network)),
      threads(thread_count > 0 ? thread_count : kernels::available_cores()) {
  const runtime::Executable executable = compile_model(model, threads);
  inputs = ports_of_plan(executable.inputs());
  outputs = ports_of_plan(executable.outputs());
  std::vector<Shape> own;
  for (const Port& port : inputs) own.push_back(port.type.shape);
  plans.push_front({std::move(own), std::make_unique<runtime::ExecutionContext>(executable)});
}

runtime::ExecutionContext& Session::Impl::context_for(const std::vector<Shape>& shapes) {
  const auto found = std::find_if(plans.begin(), plans.end(),
                                  [&](const Plan& plan) { return plan.shapes == shapes; });
  if (found != plans.end()) {
    plans.splice(plans.begin(), plans, found);
    return *plans.front().context;
  }
  std::map<std::string, Shape> named;
  for (size_t i = 0; i < shapes.size(); ++i) named.emplace(inputs[i].name, shapes[i]);
  plans.push_front({shapes, std::make_unique<runtime::ExecutionContext>(
                                compile_model(model.with_shapes(named), threads))});
  if (plans.size() > kMostPlans) plans.pop_back();
  return *plans.front().context;
}

Session::Session(Model model, int threads)
    : impl_(std::make_unique<Impl>(std::move(model), threads)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<Port>& Session::inputs() const {
  return impl_->inputs;
}

const std::vector<Port>& Session::outputs() const {
  return impl_->outputs;
}

void Session::run(std::span<const Tensor> tensors) {
  TY_REQUIRE(tensors.size() == inputs().size(), "{} tensors for {} inputs", tensors.size(),
             inputs().size());
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  runtime::ExecutionContext& context = impl_->context_for(shapes);
  for (size_t i = 0; i < tensors.size(); ++i) context.lend_input(i, tensors[i]);
  const Stopwatch engine;
  context.run();
  impl_->engine_seconds = engine.seconds();
}

const Tensor& Session::output(size_t index) const {
  return impl_->plans.front().context->output(index);
}

double Session::engine_seconds() const {
  return impl_->engine_seconds;
}

}  // namespace trainyard::api
