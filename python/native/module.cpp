// The engine as a Python module: trainyard._engine, which trainyard/native.py wraps.
#include <algorithm>
#include <memory>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <trainyard/analysis/layers.h>
#include <trainyard/base/error.h>
#include <trainyard/models/network.h>
#include <trainyard/train/training_step.h>

#include "arrays.h"
#include "session.h"

namespace py = pybind11;

namespace trainyard::python {
namespace {

py::list layers_of(const std::string& model, std::optional<int64_t> batch) {
  network::Request request;
  request.model = model;
  request.batch = batch;
  const Graph graph = network::load(request);
  py::list rows;
  for (const analysis::Layer& layer : analysis::analyze_layers(graph).layers) {
    py::dict row;
    row["name"] = layer.name;
    row["op"] = layer.op;
    row["kind"] = std::string(layer.kind);
    row["shape"] =
        std::vector<int64_t>(layer.output_shape.dims().begin(), layer.output_shape.dims().end());
    row["parameters"] = layer.figures.params.trainable();
    row["macs"] = layer.figures.cost.macs;
    row["flops"] = layer.figures.cost.flops;
    row["bytes"] = layer.figures.bytes_moved();
    rows.append(row);
  }
  return rows;
}

// Which node's results each node takes, by index into the list of layers.
py::list edges_of(const std::string& model, std::optional<int64_t> batch) {
  network::Request request;
  request.model = model;
  request.batch = batch;
  const Graph graph = network::load(request);
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

std::unique_ptr<train::TrainingStep> make_step(const std::string& model, const std::string& weights,
                                               std::optional<int64_t> batch,
                                               const std::string& objective,
                                               const std::string& optimizer, double momentum,
                                               double weight_decay, int threads, uint64_t seed) {
  network::Request request;
  request.model = model;
  request.weights = weights;
  request.batch = batch;
  train::StepOptions options;
  options.training.objective = train::make_objective(objective);
  options.training.optimizer.kind = optimizer;
  options.training.optimizer.momentum = momentum;
  options.training.optimizer.weight_decay = weight_decay;
  options.threads = threads;
  options.seed = seed;
  return std::make_unique<train::TrainingStep>(network::load(request), options);
}

std::vector<std::string> port_names(const std::vector<runtime::Port>& ports) {
  std::vector<std::string> names;
  for (const runtime::Port& port : ports) names.push_back(port.name);
  return names;
}

void set_named_input(train::TrainingStep& step, const std::string& name, const py::object& value) {
  // The network's inputs are found by their place, the objective's by what they are for.
  const std::vector<std::string> names = port_names(step.inputs());
  const std::vector<std::string> asked = step.objective_inputs();
  const auto port = std::find(names.begin(), names.end(), name);
  const bool own =
      port != names.end() && std::find(asked.begin(), asked.end(), name) == asked.end();
  Tensor& target = own ? step.input(static_cast<size_t>(port - names.begin())) : step.input(name);
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
  py::class_<train::TrainingStep>(module, "TrainingStep")
      .def(py::init(&make_step), py::arg("model"), py::arg("weights"), py::arg("batch"),
           py::arg("objective"), py::arg("optimizer"), py::arg("momentum"), py::arg("weight_decay"),
           py::arg("threads"), py::arg("seed"), py::call_guard<py::gil_scoped_release>())
      .def("input_names", [](const train::TrainingStep& step) { return port_names(step.inputs()); })
      .def("set_input", &set_named_input)
      .def(
          "run", [](train::TrainingStep& step, double rate) { step.run(rate); },
          py::arg("learning_rate"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("loss", &train::TrainingStep::loss)
      .def("metric", [](const train::TrainingStep& step,
                        const std::string& name) { return step.metric(name); })
      .def("metric_names",
           [](const train::TrainingStep& step) {
             std::vector<std::string> names;
             for (const auto& metric : step.metrics()) names.push_back(metric.name);
             return names;
           })
      .def("state_names", [](const train::TrainingStep& step) { return port_names(step.states()); })
      .def("state", [](const train::TrainingStep& step, size_t index) {
        TY_REQUIRE(index < step.states().size(), "state {} of {}", index, step.states().size());
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
