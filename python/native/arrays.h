// Tensors as NumPy sees them, and the other way round.
#pragma once

#include <memory>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <string>
#include <trainyard/tensor/tensor.h>

namespace trainyard::python {

// Memory that Python objects and the engine share.
class SharedTensor {
 public:
  explicit SharedTensor(Tensor tensor) : tensor_(std::move(tensor)) {}
  Tensor& get() { return tensor_; }
  const Tensor& get() const { return tensor_; }

 private:
  Tensor tensor_;
};

// Throws Error for an element type that NumPy does not have (bf16, float8, int4).
pybind11::dtype numpy_type(DType dtype);
// "float32"
std::string type_name(const pybind11::dtype& type);

// A view of `tensor`'s memory that keeps `owner` alive; nothing is copied.
pybind11::array view_of(Tensor& tensor, const pybind11::object& owner);
// An array of its own.
pybind11::array copy_of(const Tensor& tensor);

// An array as the engine takes it: C-contiguous and of the wanted element type. `name` is that of
// the input in errors. A contiguous array is not copied; others are, which is logged once at debug
// level.
pybind11::array contiguous(const pybind11::handle& value, DType wanted, const std::string& name);
Shape shape_of(const pybind11::array& array);
// A tensor over the array's memory, which must outlive it.
Tensor over(const pybind11::array& array, DType dtype);

}  // namespace trainyard::python
