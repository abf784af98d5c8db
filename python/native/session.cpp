#include "session.h"

#include <algorithm>
#include <trainyard/base/error.h>
#include <trainyard/base/stopwatch.h>
#include <trainyard/engine/compiler.h>

#include "arrays.h"

namespace py = pybind11;

namespace trainyard::python {
namespace {

constexpr size_t kMostPlans = 4;

using Shapes = std::map<std::string, std::vector<int64_t>>;

network::Request request_for(std::string model, std::string weights, std::optional<int64_t> batch,
                             const Shapes& shapes) {
  network::Request request;
  request.model = std::move(model);
  request.weights = std::move(weights);
  request.batch = batch;
  for (const auto& [name, dims] : shapes) request.shapes.emplace(name, Shape(dims));
  return request;
}

runtime::Executable compile_request(const network::Request& request, int threads) {
  runtime::CompileOptions options;
  options.threads = threads;
  options.seed = 1;
  options.share_constants = true;  // plans for other shapes keep the same weights
  return runtime::compile(network::load(request), options);
}

std::vector<PortInfo> describe(const std::vector<runtime::Port>& ports) {
  std::vector<PortInfo> infos;
  for (const runtime::Port& port : ports) {
    PortInfo info{port.name, type_name(numpy_type(port.type.dtype)), {}};
    for (const int64_t dim : port.type.shape.dims()) {
      info.shape.push_back(dim < 0 ? std::optional<int64_t>() : dim);
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<Shape> shapes_of(const std::vector<py::array>& arrays) {
  std::vector<Shape> shapes;
  for (const py::array& array : arrays) shapes.push_back(shape_of(array));
  return shapes;
}

}  // namespace

Session::Session(std::string model, std::string weights, std::optional<int64_t> batch, int threads,
                 const Shapes& shapes)
    : request_(request_for(std::move(model), std::move(weights), batch, shapes)),
      threads_(threads),
      executable_(compile_request(request_, threads)) {
  std::vector<Shape> own;
  for (const runtime::Port& port : executable_.inputs()) {
    own.push_back(port.type.shape);
    input_names_.emplace_back(port.name);
  }
  plans_.push_front({std::move(own), std::make_unique<runtime::ExecutionContext>(executable_)});
}

std::vector<PortInfo> Session::inputs() const {
  return describe(executable_.inputs());
}

std::vector<PortInfo> Session::outputs() const {
  return describe(executable_.outputs());
}

runtime::Executable Session::compile_for(const std::vector<Shape>& shapes) const {
  network::Request request = request_;
  if (network::is_path(request.model)) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      request.shapes[executable_.inputs()[i].name] = shapes[i];
    }
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

std::vector<py::array> Session::inputs_of(const py::dict& feeds) const {
  std::vector<py::array> arrays;
  for (size_t i = 0; i < input_names_.size(); ++i) {
    const runtime::Port& port = executable_.inputs()[i];
    // Borrowed; no exception is set for a name that is not there.
    PyObject* array = PyDict_GetItemWithError(feeds.ptr(), input_names_[i].ptr());
    TY_REQUIRE(array != nullptr, "there is no array for input '{}'", port.name);
    arrays.push_back(contiguous(array, port.type.dtype, port.name));
  }
  TY_REQUIRE(feeds.size() == arrays.size(), "{} arrays for {} inputs", feeds.size(), arrays.size());
  return arrays;
}

py::list Session::run(const py::object& names, const py::dict& feeds) {
  const std::vector<py::array> arrays = inputs_of(feeds);
  std::vector<size_t> wanted;
  const std::vector<runtime::Port>& outputs = executable_.outputs();
  if (names.is_none()) {
    for (size_t i = 0; i < outputs.size(); ++i) wanted.push_back(i);
  } else {
    for (const py::handle item : names) {
      const auto name = py::cast<std::string>(item);
      const auto found = std::find_if(outputs.begin(), outputs.end(),
                                      [&](const runtime::Port& port) { return port.name == name; });
      TY_REQUIRE(found != outputs.end(), "there is no output '{}'", name);
      wanted.push_back(static_cast<size_t>(found - outputs.begin()));
    }
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < arrays.size(); ++i) {
    tensors.push_back(over(arrays[i], executable_.inputs()[i].type.dtype));
  }
  // Not while the lock of Python is held, which another thread may want that has this one.
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  runtime::ExecutionContext* context = nullptr;
  {
    const py::gil_scoped_release released;
    lock.lock();
    context = &context_for(shapes_of(arrays));
    for (size_t i = 0; i < tensors.size(); ++i) context->lend_input(i, tensors[i]);
    const Stopwatch engine;
    context->run();
    engine_seconds_ = engine.seconds();
  }
  py::list results;
  for (const size_t i : wanted) results.append(copy_of(context->output(i)));
  return results;
}

}  // namespace trainyard::python
