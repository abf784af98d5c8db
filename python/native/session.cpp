#include "session.h"

#include <algorithm>
#include <trainyard/base/error.h>

#include "arrays.h"

namespace py = pybind11;

namespace trainyard::python {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

api::Model load(const std::string& model, std::string weights, std::optional<int64_t> batch,
                const Shapes& shapes) {
  api::ModelOptions options;
  options.weights = std::move(weights);
  options.batch = batch;
  for (const auto& [name, dims] : shapes) options.shapes.emplace(name, Shape(dims));
  return api::Model(model, options);
}

std::vector<PortInfo> describe(const std::vector<api::Port>& ports) {
  std::vector<PortInfo> infos;
  for (const api::Port& port : ports) {
    PortInfo info{port.name, type_name(numpy_type(port.type.dtype)), {}};
    for (const int64_t dim : port.type.shape.dims()) {
      info.shape.push_back(dim < 0 ? std::optional<int64_t>() : dim);
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

Session::Session(const std::string& model, std::string weights, std::optional<int64_t> batch,
                 int threads, const Shapes& shapes)
    : session_(load(model, std::move(weights), batch, shapes), threads) {
  for (const api::Port& port : session_.inputs()) input_names_.emplace_back(port.name);
}

std::vector<PortInfo> Session::inputs() const {
  return describe(session_.inputs());
}

std::vector<PortInfo> Session::outputs() const {
  return describe(session_.outputs());
}

std::vector<py::array> Session::inputs_of(const py::dict& feeds) const {
  std::vector<py::array> arrays;
  for (size_t i = 0; i < input_names_.size(); ++i) {
    const api::Port& port = session_.inputs()[i];
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
  const std::vector<api::Port>& outputs = session_.outputs();
  if (names.is_none()) {
    for (size_t i = 0; i < outputs.size(); ++i) wanted.push_back(i);
  } else {
    for (const py::handle item : names) {
      const auto name = py::cast<std::string>(item);
      const auto found = std::find_if(outputs.begin(), outputs.end(),
                                      [&](const api::Port& port) { return port.name == name; });
      TY_REQUIRE(found != outputs.end(), "there is no output '{}'", name);
      wanted.push_back(static_cast<size_t>(found - outputs.begin()));
    }
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < arrays.size(); ++i) {
    tensors.push_back(over(arrays[i], session_.inputs()[i].type.dtype));
  }
  // Not while the lock of Python is held, which another thread may want that has this one.
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  {
    const py::gil_scoped_release released;
    lock.lock();
    session_.run(tensors);
  }
  py::list results;
  for (const size_t i : wanted) results.append(copy_of(session_.output(i)));
  return results;
}

}  // namespace trainyard::python
