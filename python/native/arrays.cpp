#include "arrays.h"

#include <trainyard/base/error.h>
#include <vector>

namespace py = pybind11;

namespace trainyard::python {
namespace {

// In the letters of Python's struct module; 0: NumPy has no such type.
char letter_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 'f';
    case DType::kF64:
      return 'd';
    case DType::kF16:
      return 'e';
    case DType::kI8:
      return 'b';
    case DType::kI16:
      return 'h';
    case DType::kI32:
      return 'i';
    case DType::kI64:
      return 'q';
    case DType::kU8:
      return 'B';
    case DType::kU16:
      return 'H';
    case DType::kU32:
      return 'I';
    case DType::kU64:
      return 'Q';
    case DType::kBool:
      return '?';
    default:
      return 0;
  }
}

void say_copied_once(const std::string& name) {
  static bool said = false;
  if (said) return;
  said = true;
  py::module_::import("logging")
      .attr("getLogger")("trainyard")
      .attr("debug")("input '" + name + "' is not C-contiguous and is copied, as are further ones");
}

}  // namespace

py::dtype numpy_type(DType dtype) {
  const char letter = letter_of(dtype);
  TY_REQUIRE(letter != 0, "NumPy has no element type for {}", dtype_name(dtype));
  return py::dtype(std::string(1, letter));
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
  return {numpy_type(tensor.dtype()), dims, tensor.data()};
}

py::array contiguous(const py::handle& value, DType wanted, const std::string& name) {
  const py::array array = py::array::ensure(value);
  if (!array) {
    PyErr_Clear();
    throw_error("input '{}' is no array", name);
  }
  const py::dtype type = numpy_type(wanted);
  TY_REQUIRE(array.dtype().equal(type), "input '{}' is of {}; expected {} (astype() converts)",
             name, type_name(array.dtype()), type_name(type));
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
