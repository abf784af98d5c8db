#include "api/c/trainyard.h"

#include <array>
#include <cstdlib>

#include "api/session.h"
#include "base/error.h"

using namespace trainyard;

// What a caller holds.
struct ty_session {
  ty_session(api::Model model, int threads) : session(std::move(model), threads) {}

  api::Session session;
};

namespace {

struct TypeNumber {
  DType dtype;
  int32_t number;
};
constexpr std::array kTypes = {
    TypeNumber{DType::kF32, TY_FLOAT},    TypeNumber{DType::kU8, TY_UINT8},
    TypeNumber{DType::kI8, TY_INT8},      TypeNumber{DType::kU16, TY_UINT16},
    TypeNumber{DType::kI16, TY_INT16},    TypeNumber{DType::kI32, TY_INT32},
    TypeNumber{DType::kI64, TY_INT64},    TypeNumber{DType::kBool, TY_BOOL},
    TypeNumber{DType::kF16, TY_FLOAT16},  TypeNumber{DType::kF64, TY_DOUBLE},
    TypeNumber{DType::kU32, TY_UINT32},   TypeNumber{DType::kU64, TY_UINT64},
    TypeNumber{DType::kBF16, TY_BFLOAT16}};

thread_local std::string last_error;

int32_t number_of(DType dtype) {
  for (const TypeNumber& type : kTypes) {
    if (type.dtype == dtype) return type.number;
  }
  throw_error("{} has no number in this interface", dtype_name(dtype));
}

// Calls f and keeps what it throws: no exception leaves the library.
template <typename F>
int32_t guarded(const F& f) noexcept {
  int32_t code = TY_OK;
  try {
    f();
    return TY_OK;
  } catch (const Error& error) {
    code = TY_WRONG;
    last_error = error.what();
  } catch (const InternalError& error) {
    code = TY_DEFECT;
    last_error = error.what();
  } catch (const std::exception& error) {
    code = TY_FAILED;
    last_error = error.what();
  }
  return code;
}

void describe(const std::vector<api::Port>& ports, size_t index, ty_tensor* description) {
  TY_REQUIRE(description != nullptr, "there is no room for the description");
  TY_REQUIRE(index < ports.size(), "index {} of {}", index, ports.size());
  const api::Port& port = ports[index];
  const auto dims = port.type.shape.dims();
  *description = {port.name.c_str(),
                  number_of(port.type.dtype),
                  static_cast<int32_t>(dims.size()),
                  dims.data(),
                  nullptr,
                  0};
}

Shape shape_of(const ty_tensor& tensor) {
  TY_REQUIRE(tensor.rank >= 0 && (tensor.rank == 0 || tensor.dims != nullptr),
             "a tensor of rank {} without dimensions", tensor.rank);
  return Shape(std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank));
}

// The caller's memory under our type; it stays the caller's.
Tensor view_of(const ty_tensor& tensor, const api::Port& port) {
  const DType dtype = port.type.dtype;
  TY_REQUIRE(tensor.type == number_of(dtype), "input '{}' has type {}, expected {} ({})", port.name,
             tensor.type, number_of(dtype), dtype_name(dtype));
  const TensorType type{dtype, shape_of(tensor)};
  TY_REQUIRE(type.shape.is_static(), "input '{}' has shape {}, expected sizes of 0 or more",
             port.name, type.shape.to_string());
  const int64_t bytes = type.num_bytes();
  TY_REQUIRE(static_cast<size_t>(bytes) == tensor.bytes,
             "input '{}' of shape {} needs {} bytes, got {}", port.name, type.shape.to_string(),
             bytes, tensor.bytes);
  TY_REQUIRE(tensor.data != nullptr || bytes == 0, "input '{}' has no data", port.name);
  return Tensor(type, nullptr, const_cast<void*>(tensor.data));
}

// The place of a tensor among the inputs.
size_t place_of(const ty_tensor& tensor, size_t given, const std::vector<api::Port>& ports) {
  if (tensor.name == nullptr) return given;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == tensor.name) return i;
  }
  throw_error("there is no input '{}'", tensor.name);
}

void run_session(api::Session& session, const ty_tensor* inputs, size_t input_count,
                 ty_tensor* outputs) {
  const std::vector<api::Port>& ports = session.inputs();
  TY_REQUIRE(input_count == ports.size(), "{} tensors for {} inputs", input_count, ports.size());
  TY_REQUIRE(input_count == 0 || inputs != nullptr, "there are no inputs");
  std::vector<Tensor> tensors(ports.size());
  std::vector<bool> filled(ports.size());
  for (size_t i = 0; i < input_count; ++i) {
    const size_t at = place_of(inputs[i], i, ports);
    TY_REQUIRE(!filled[at], "input '{}' is given twice", ports[at].name);
    filled[at] = true;
    tensors[at] = view_of(inputs[i], ports[at]);
  }
  session.run(tensors);
  for (size_t i = 0; outputs != nullptr && i < session.outputs().size(); ++i) {
    const Tensor& tensor = session.output(i);
    const auto dims = tensor.shape().dims();
    outputs[i] = {session.outputs()[i].name.c_str(),
                  number_of(tensor.dtype()),
                  static_cast<int32_t>(dims.size()),
                  dims.data(),
                  tensor.data(),
                  static_cast<size_t>(tensor.num_bytes())};
  }
}

}  // namespace

const char* ty_version(void) {
  return TY_VERSION_TEXT;
}

const char* ty_last_error(void) {
  return last_error.c_str();
}

ty_session* ty_load(const char* model, int32_t threads, const ty_tensor* shapes,
                    size_t shape_count) {
  ty_session* made = nullptr;
  guarded([&] {
    TY_REQUIRE(model != nullptr, "there is no model");
    TY_REQUIRE(threads >= 0, "threads is {}, expected 0 or more", threads);
    TY_REQUIRE(shape_count == 0 || shapes != nullptr, "there are no shapes");
    api::ModelOptions options;
    for (size_t i = 0; i < shape_count; ++i) {
      TY_REQUIRE(shapes[i].name != nullptr, "shape {} has no name", i);
      options.shapes.emplace(shapes[i].name, shape_of(shapes[i]));
    }
    made = new ty_session(api::Model(model, options), threads);
  });
  return made;
}

size_t ty_input_count(const ty_session* session) {
  return session == nullptr ? 0 : session->session.inputs().size();
}

size_t ty_output_count(const ty_session* session) {
  return session == nullptr ? 0 : session->session.outputs().size();
}

int32_t ty_input(const ty_session* session, size_t index, ty_tensor* description) {
  return guarded([&] {
    TY_REQUIRE(session != nullptr, "there is no session");
    describe(session->session.inputs(), index, description);
  });
}

int32_t ty_output(const ty_session* session, size_t index, ty_tensor* description) {
  return guarded([&] {
    TY_REQUIRE(session != nullptr, "there is no session");
    describe(session->session.outputs(), index, description);
  });
}

int32_t ty_run(ty_session* session, const ty_tensor* inputs, size_t input_count,
               ty_tensor* outputs) {
  return guarded([&] {
    TY_REQUIRE(session != nullptr, "there is no session");
    run_session(session->session, inputs, input_count, outputs);
  });
}

void ty_free(ty_session* session) {
  delete session;
}
