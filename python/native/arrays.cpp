#include "arrays.h"

#include <cstring>
#include <trainyard/base/error.h>
#include <vector>

namespace py = pybind11;

namespace trainyard::python {
namespace {

void say_copied_once(const std::string& name) {
  static bool said = false;
  if (said) return;
  said = true;
  py::module_::import("logging")
      .attr("getLogger")("trainyard")
      .attr("debug")("input '" + name + "' is not C-contiguous and is copied, as are further ones");
}

}  // namespace

// NumPy's own object for each type, so that comparing two is mostly comparing pointers.
py::dtype numpy_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return py::dtype::of<float>();
    case DType::kF64:
      return py::dtype::of<double>();
    case DType::kF16:
      return py::dtype("e");
    case DType::kI8:
      return py::dtype::of<int8_t>();
    case DType::kI16:
      return py::dtype::of<int16_t>();
    case DType::kI32:
      return py::dtype::of<int32_t>();
    case DType::kI64:
      return py::dtype::of<int64_t>();
    case DType::kU8:
      return py::dtype::of<uint8_t>();
    case DType::kU16:
      return py::dtype::of<uint16_t>();
    case DType::kU32:
      return py::dtype::of<uint32_t>();
    case DType::kU64:
      return py::dtype::of<uint64_t>();
    case DType::kBool:
      return py::dtype::of<bool>();
    default:
      throw_error("NumPy has no element type for {}", dtype_name(dtype));
  }
}

std::string type_name(const py::dtype& type) {
  return type.attr("name").cast<std::string>();
}

py::array view_of(Tensor& tensor, const py::object& owner) {
  std::vector<py::ssize_t> dims;
  for (const int64_t dim : tensor.shape().dims()) dims.push_back(dim);
  return {numpy_type(tensor.dtype()), dims, tensor.data(), owner};
}

py::array copy_of(const Tensor& tensor) {
  std::vector<py::ssize_t> dims;
  for (const int64_t dim : tensor.shape().dims()) dims.push_back(dim);
  // Filled here: NumPy would make an array over the tensor's memory first and copy that.
  py::array array(numpy_type(tensor.dtype()), dims);
  if (tensor.num_bytes() > 0) {
    std::memcpy(array.mutable_data(), tensor.data(), static_cast<size_t>(tensor.num_bytes()));
  }
  return array;
}

py::array contiguous(const py::handle& value, DType wanted, const std::string& name) {
  // Called once for each input of a run: an array as it should be takes the short way.
  const py::array array = py::isinstance<py::array>(value)
                              ? py::reinterpret_borrow<py::array>(value)
                              : py::array::ensure(value);
  if (!array) {
    PyErr_Clear();
    throw_error("input '{}' is no array", name);
  }
  const py::dtype type = numpy_type(wanted);
  TY_REQUIRE(array.dtype().is(type) || array.dtype().equal(type),
             "input '{}' is of {}; expected {} (astype() converts)", name, type_name(array.dtype()),
             type_name(type));
  if ((array.flags() & py::array::c_style) != 0) return array;
  say_copied_once(name);
  return py::array::ensure(array, py::array::c_style);
}

Shape shape_of(const py::array& array) {
  std::vector<int64_t> dims;
  for (py::ssize_t i = 0; i < array.ndim(); ++i) dims.push_back(array.shape(i));
  return Shape(std::move(dims));
}

Tensor over(const py::array& array, DType dtype) {
  // The engine only reads it.
  void* data = const_cast<void*>(array.data());
  return {TensorType{dtype, shape_of(array)}, std::shared_ptr<void>(data, [](void*) {}), data};
}

}  // namespace trainyard::python
