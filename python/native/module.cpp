// The engine as a Python module: trainyard._engine, which trainyard/native.py wraps.
#include <algorithm>
#include <memory>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <trainyard/api/training/training.h>
#include <trainyard/base/error.h>

#include "arrays.h"
#include "session.h"

namespace py = pybind11;

namespace trainyard::python {
namespace {

api::Model load_model(const std::string& model, std::optional<int64_t> batch) {
  api::ModelOptions options;
  options.batch = batch;
  return api::Model(model, options);
}

py::list layers_of(const std::string& model, std::optional<int64_t> batch) {
  py::list rows;
  for (const api::LayerCost& layer : load_model(model, batch).layers()) {
    py::dict row;
    row["name"] = layer.name;
    row["op"] = layer.op;
    row["kind"] = layer.kind;
    row["shape"] = std::vector<int64_t>(layer.output.dims().begin(), layer.output.dims().end());
    row["parameters"] = layer.parameters;
    row["macs"] = layer.macs;
    row["flops"] = layer.flops;
    row["bytes"] = layer.bytes_moved;
    rows.append(row);
  }
  return rows;
}

// Which node's results each node takes, by index into the list of layers.
py::list edges_of(const std::string& model, std::optional<int64_t> batch) {
  const api::Model loaded = load_model(model, batch);
  const Graph& graph = loaded.graph();
  py::list edges;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      const Value& value = graph.value(input);
      if (value.producer.valid()) {
        edges.append(py::make_tuple(graph.node(value.producer).name, node.name));
      }
    }
  }
  return edges;
}

std::unique_ptr<api::TrainingStep> make_step(const std::string& model, const std::string& weights,
                                             std::optional<int64_t> batch,
                                             const std::string& objective,
                                             const std::string& optimizer, double momentum,
                                             double weight_decay, int threads, uint64_t seed) {
  api::ModelOptions options;
  options.weights = weights;
  options.batch = batch;
  return std::make_unique<api::TrainingStep>(
      api::Model(model, options),
      api::StepSettings{objective, optimizer, momentum, weight_decay, threads, seed});
}

std::vector<std::string> port_names(const std::vector<api::Port>& ports) {
  std::vector<std::string> names;
  for (const api::Port& port : ports) names.push_back(port.name);
  return names;
}

void set_named_input(api::TrainingStep& step, const std::string& name, const py::object& value) {
  Tensor& target = step.input(name);
  const py::array array = contiguous(value, target.dtype(), name);
  TY_REQUIRE(shape_of(array) == target.shape(), "input '{}' is {}; expected {}", name,
             shape_of(array).to_string(), target.shape().to_string());
  std::copy_n(static_cast<const std::byte*>(array.data()), target.num_bytes(),
              static_cast<std::byte*>(target.data()));
}

void register_errors(py::module_& module) {
  // Of the package, so that whoever catches TrainyardError catches these.
  const py::object errors = py::module_::import("trainyard.errors");
  module.attr("_request_error") = errors.attr("RequestError");
  module.attr("_failure_error") = errors.attr("FailureError");
  module.attr("_internal_error") = errors.attr("InternalError");
  py::register_exception_translator([](std::exception_ptr thrown) {
    const auto raise = [](const char* kind, const char* what) {
      const py::object type = py::module_::import("trainyard._engine").attr(kind);
      PyErr_SetString(type.ptr(), what);
    };
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise("_request_error", error.what());
    } catch (const Failure& failure) {
      raise("_failure_error", failure.what());
    } catch (const InternalError& bug) {
      raise("_internal_error", bug.what());
    }
  });
}

void bind_tensor(py::module_& module) {
  py::class_<SharedTensor, std::shared_ptr<SharedTensor>>(module, "Tensor", py::buffer_protocol())
      .def_buffer([](SharedTensor& shared) { return view_of(shared.get(), py::none()).request(); });
}

void bind_session(py::module_& module) {
  py::class_<PortInfo>(module, "Port")
      .def_readonly("name", &PortInfo::name)
      .def_readonly("type", &PortInfo::dtype)
      .def_readonly("shape", &PortInfo::shape);
  py::class_<Session>(module, "Session")
      .def(py::init<std::string, std::string, std::optional<int64_t>, int,
                    const std::map<std::string, std::vector<int64_t>>&>(),
           py::arg("model"), py::arg("weights"), py::arg("batch"), py::arg("threads"),
           py::arg("shapes"), py::call_guard<py::gil_scoped_release>())
      .def("get_inputs", &Session::inputs)
      .def("get_outputs", &Session::outputs)
      .def("run", &Session::run, py::arg("output_names"), py::arg("input_feed"))
      .def_property_readonly("engine_seconds", &Session::engine_seconds);
}

void bind_step(py::module_& module) {
  py::class_<api::TrainingStep>(module, "TrainingStep")
      .def(py::init(&make_step), py::arg("model"), py::arg("weights"), py::arg("batch"),
           py::arg("objective"), py::arg("optimizer"), py::arg("momentum"), py::arg("weight_decay"),
           py::arg("threads"), py::arg("seed"), py::call_guard<py::gil_scoped_release>())
      .def("input_names", [](const api::TrainingStep& step) { return port_names(step.inputs()); })
      .def("set_input", &set_named_input)
      .def(
          "run", [](api::TrainingStep& step, double rate) { step.run(rate); },
          py::arg("learning_rate"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("loss", &api::TrainingStep::loss)
      .def("metric",
           [](const api::TrainingStep& step, const std::string& name) { return step.metric(name); })
      .def("metric_names", &api::TrainingStep::metric_names)
      .def("state_names", [](const api::TrainingStep& step) { return port_names(step.states()); })
      .def("state", [](const api::TrainingStep& step, size_t index) {
        return std::make_shared<SharedTensor>(step.state(index));
      });
}

}  // namespace
}  // namespace trainyard::python

PYBIND11_MODULE(_engine, module) {
  using namespace trainyard::python;
  module.doc() = "The engine of trainyard; use trainyard.Session, Graph and TrainingStep";
  register_errors(module);
  bind_tensor(module);
  bind_session(module);
  bind_step(module);
  module.def("layers", &layers_of, py::arg("model"), py::arg("batch"));
  module.def("edges", &edges_of, py::arg("model"), py::arg("batch"));
}
