// A network to run, with onnxruntime's two methods.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <string>
#include <trainyard/api/session.h>
#include <vector>

namespace trainyard::python {

struct PortInfo {
  std::string name;
  std::string dtype;  // of NumPy
  std::vector<std::optional<int64_t>> shape;
};

// May be called from several threads; runs come one after another.
class Session {
 public:
  // Shapes are of inputs by name, for files that leave dimensions open.
  Session(const std::string& model, std::string weights, std::optional<int64_t> batch, int threads,
          const std::map<std::string, std::vector<int64_t>>& shapes);

  std::vector<PortInfo> inputs() const;
  std::vector<PortInfo> outputs() const;
  // Outputs by name, or all for None; `feeds` has an array for every input. A plan is made for each
  // combination of shapes and kept for the next call (the four last used).
  pybind11::list run(const pybind11::object& names, const pybind11::dict& feeds);
  // Of the last run: the network alone, without arrays going in and out.
  double engine_seconds() const { return session_.engine_seconds(); }

 private:
  std::vector<pybind11::array> inputs_of(const pybind11::dict& feeds) const;

  api::Session session_;
  std::vector<pybind11::str> input_names_;  // made once
  std::mutex mutex_;
};

}  // namespace trainyard::python
