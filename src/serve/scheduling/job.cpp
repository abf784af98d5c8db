#include "serve/scheduling/job.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "data/image.h"
#include "serve/protocol/json_data.h"
#include "serve/protocol/status.h"

namespace trainyard::serve {
namespace {

// Of one request, whatever the size of batches.
constexpr int64_t kMostRows = 4096;

// Dimensions below 0 are open in `spec`. That the data has as many elements as the shape says is
// for those who read requests to check.
void check_shape(const TensorSpec& spec, const std::vector<int64_t>& shape) {
  bool fits = shape.size() == spec.dims.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = spec.dims[i] < 0 || shape[i] == spec.dims[i];
  }
  if (!fits) {
    refuse(Status::kBadRequest, "input '{}': shape is {}, expected {}", spec.name, dims_text(shape),
           dims_text(spec.dims));
  }
}

bool has_name(const std::vector<TensorSpec>& specs, std::string_view name) {
  return std::any_of(specs.begin(), specs.end(),
                     [&](const TensorSpec& spec) { return spec.name == name; });
}

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

const InputTensor& find_input(const Network& network, const InferRequest& request,
                              const TensorSpec& spec) {
  const auto found =
      std::find_if(request.inputs.begin(), request.inputs.end(),
                   [&](const InputTensor& input) { return input.name == spec.name; });
  if (found != request.inputs.end()) return *found;
  std::string got;
  for (const InputTensor& input : request.inputs) got += (got.empty() ? "" : ", ") + input.name;
  refuse(Status::kBadRequest, "input '{}' is missing; expected {}, got {}", spec.name,
         join(names_of(network.inputs()), ", "), got.empty() ? "none" : got);
}

void check_extra(const Network& network, const InferRequest& request) {
  for (const InputTensor& input : request.inputs) {
    const auto count = std::count_if(request.inputs.begin(), request.inputs.end(),
                                     [&](const InputTensor& i) { return i.name == input.name; });
    if (count > 1) refuse(Status::kBadRequest, "input '{}' is given {} times", input.name, count);
    if (!has_name(network.inputs(), input.name)) {
      const std::vector<std::string> names = names_of(network.inputs());
      refuse(Status::kBadRequest, "there is no input '{}'.{} Expected {}", input.name,
             did_you_mean(input.name, names), join(names, ", "));
    }
  }
}

void check_outputs(const Network& network, const InferRequest& request) {
  for (const WantedOutput& wanted : request.outputs) {
    if (!has_name(network.outputs(), wanted.name)) {
      const std::vector<std::string> names = names_of(network.outputs());
      refuse(Status::kBadRequest, "there is no output '{}'.{} Expected {}", wanted.name,
             did_you_mean(wanted.name, names), join(names, ", "));
    }
  }
}

// BYTES elements are files to decode; that their content is a picture is only found out by the
// worker, off the thread of the sockets.
void add_pictures(const Network& network, const TensorSpec& spec, const InputTensor& input,
                  Job& job) {
  if (!network.takes_pictures()) {
    refuse(Status::kBadRequest, "input '{}': datatype is BYTES, expected {} of shape {}", spec.name,
           protocol_name(spec.dtype), dims_text(spec.dims));
  }
  const auto count = static_cast<int64_t>(input.texts.size());
  if (count < 1) refuse(Status::kBadRequest, "input '{}' has no pictures", spec.name);
  std::vector<int64_t> dims = spec.dims;
  if (dims[0] < 0) dims[0] = count;
  if (dims[0] != count) {
    refuse(Status::kBadRequest, "input '{}' has {} pictures, expected {}", spec.name, count,
           dims[0]);
  }
  job.shapes.emplace_back(std::move(dims));
  job.data.push_back(nullptr);
}

void add_input(const Network& network, const TensorSpec& spec, const InputTensor& input, Job& job) {
  if (!input.dtype) return add_pictures(network, spec, input, job);
  if (*input.dtype != spec.dtype) {
    refuse(Status::kBadRequest, "input '{}': datatype is {}, expected {}", spec.name,
           protocol_name(*input.dtype), protocol_name(spec.dtype));
  }
  check_shape(spec, input.shape);
  // Readers have checked it in their own words; workers copy what the shape says, so it is checked
  // for all of them here.
  const int64_t wanted = count_elements(input.shape, spec.name) * dtype_size(spec.dtype);
  if (static_cast<int64_t>(input.bytes) != wanted) {
    refuse(Status::kBadRequest, "input '{}' of shape {} has {} bytes, expected {}", spec.name,
           dims_text(input.shape), input.bytes, wanted);
  }
  job.shapes.emplace_back(input.shape);
  job.data.push_back(input.data);
}

}  // namespace

JobPointer make_job(const Network& network, InferRequest request, InferDone done) {
  auto job = std::make_unique<Job>();
  check_extra(network, request);
  check_outputs(network, request);
  // In the order of the network, not of the request, since workers bind inputs by position.
  for (const TensorSpec& spec : network.inputs()) {
    add_input(network, spec, find_input(network, request, spec), *job);
  }
  // With a batch every input has the rows as its first dimension, so shapes[i][0] exists.
  if (network.max_batch() > 0) {
    job->rows = job->shapes[0][0];
    for (size_t i = 0; i < job->shapes.size(); ++i) {
      if (job->shapes[i][0] != job->rows) {
        refuse(Status::kBadRequest, "input '{}' has {} rows, input '{}' has {}",
               network.inputs()[0].name, job->rows, network.inputs()[i].name, job->shapes[i][0]);
      }
    }
    if (job->rows < 1 || job->rows > kMostRows) {
      refuse(Status::kBadRequest, "input '{}' has {} rows, expected 1 to {}",
             network.inputs()[0].name, job->rows, kMostRows);
    }
  }
  // Only now: find_input and the shapes above read the request. `data` points into what its owners
  // hold, which moves along.
  job->request = std::move(request);
  job->done = std::move(done);
  return job;
}

bool has_pictures(const Job& job) {
  return std::any_of(job.request.inputs.begin(), job.request.inputs.end(),
                     [](const InputTensor& input) { return !input.dtype; });
}

void decode_pictures(const Network& network, Job& job) {
  for (size_t i = 0; i < job.data.size(); ++i) {
    if (job.data[i] != nullptr || job.request.inputs[i].dtype) continue;
    const Shape& shape = job.shapes[i];
    auto batch = std::make_shared<Tensor>(DType::kF32, shape);
    // Rows were counted in add_pictures, so there is at least one.
    const auto picture_bytes = static_cast<size_t>(batch->num_bytes() / shape[0]);
    const std::vector<std::string>& texts = job.request.inputs[i].texts;
    for (size_t row = 0; row < texts.size(); ++row) {
      const data::Image image =
          data::decode_image(texts[row], fmt::format("picture {} of the request", row));
      const Tensor pixels = network.input_of(image);
      std::memcpy(static_cast<std::byte*>(batch->data()) + row * picture_bytes, pixels.data(),
                  picture_bytes);
    }
    job.data[i] = static_cast<const std::byte*>(batch->data());
    job.request.owners.push_back(std::move(batch));
  }
}

// Of one network, so both have as many inputs; only the first dimension is skipped.
bool same_but_rows(const Job& a, const Job& b) {
  for (size_t i = 0; i < a.shapes.size(); ++i) {
    const auto x = a.shapes[i].dims();
    const auto y = b.shapes[i].dims();
    if (x.size() != y.size() || !std::equal(x.begin() + 1, x.end(), y.begin() + 1)) return false;
  }
  return true;
}

}  // namespace trainyard::serve
