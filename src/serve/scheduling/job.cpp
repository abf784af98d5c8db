#include "serve/scheduling/job.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "data/image.h"
#include "http/status.h"
#include "serve/models/rows.h"
#include "serve/protocol/json_data.h"
#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {
namespace {

// Of one request, whatever the size of batches.
constexpr int64_t kMostRows = 4096;
// A small file may hold many pixels, and each takes time and 3 bytes.
constexpr int64_t kMostPixels = int64_t{1} << 26;  // of a picture
constexpr int64_t kMostPixelsOfRequest = int64_t{1} << 27;

// Dimensions below 0 are open in `spec`. That the data has as many elements as the shape says is
// for those who read requests to check.
void check_shape(const TensorSpec& spec, const std::vector<int64_t>& shape) {
  const std::vector<int64_t>& dims = spec.client_dims();
  bool fits = shape.size() == dims.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = dims[i] < 0 || shape[i] == dims[i];
  if (!fits) {
    refuse(Status::kBadRequest, "input '{}': shape is {}, expected {}", spec.name, dims_text(shape),
           dims_text(dims));
  }
}

// As the network sees it.
Shape network_shape(const TensorSpec& spec, const std::vector<int64_t>& shape) {
  return Shape(spec.outside ? reshape_dims(shape, *spec.outside, spec.dims) : shape);
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

// Once is enough: a name repeated a thousand times would make a small request a huge answer.
void check_outputs(const Network& network, const InferRequest& request) {
  std::set<std::string_view> seen;
  for (const RequestedOutput& wanted : request.outputs) {
    if (!seen.insert(wanted.name).second) {
      refuse(Status::kBadRequest, "output '{}' already exists in request: ask for it once",
             wanted.name);
    }
    if (!has_name(network.outputs(), wanted.name)) {
      const std::vector<std::string> names = names_of(network.outputs());
      refuse(Status::kBadRequest, "there is no output '{}'.{} Expected {}", wanted.name,
             did_you_mean(wanted.name, names), join(names, ", "));
    }
  }
}

// By their headers, which say how much decoding would take.
void check_pixels(const InputTensor& input) {
  int64_t sum = 0;
  for (size_t i = 0; i < input.texts.size(); ++i) {
    const data::PictureSize size = data::picture_size(input.texts[i]);
    if (size.height * size.width > kMostPixels) {
      refuse(Status::kTooLarge,
             "picture {} of the request has {} x {} pixels, at most {} are taken", i, size.width,
             size.height, kMostPixels);
    }
    sum += size.height * size.width;
  }
  if (sum > kMostPixelsOfRequest) {
    refuse(Status::kTooLarge, "the pictures of the request have {} pixels, at most {} are taken",
           sum, kMostPixelsOfRequest);
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
  check_pixels(input);
  job.shapes.emplace_back(std::move(dims));
  job.data.push_back(nullptr);
}

void add_texts(const TensorSpec& spec, const InputTensor& input, Job& job) {
  check_shape(spec, input.shape);
  require_elements(static_cast<int64_t>(input.texts.size()), input.shape,
                   fmt::format("input '{}'", spec.name));
  job.shapes.push_back(network_shape(spec, input.shape));
  job.data.push_back(nullptr);
  job.texts.back() = input.texts;
}

void add_input(const Network& network, const TensorSpec& spec, const InputTensor& input, Job& job) {
  job.texts.emplace_back();
  if (!input.dtype && spec.dtype == DType::kText) return add_texts(spec, input, job);
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
  job.shapes.push_back(network_shape(spec, input.shape));
  job.data.push_back(input.data);
}

// One that is still to be decoded; other texts are the network's own input.
bool awaits_decoding(const Job& job, size_t i) {
  const InputTensor& input = job.request.inputs[job.sources[i]];
  return job.data[i] == nullptr && !input.dtype && job.texts[i].empty() && !input.texts.empty();
}

}  // namespace

JobPointer make_job(const Network& network, InferRequest request, InferDone done) {
  auto job = std::make_unique<Job>();
  encode_cells(network, request);
  check_extra(network, request);
  check_outputs(network, request);
  // In the order of the network, not of the request, since workers bind inputs by position.
  for (const TensorSpec& spec : network.inputs()) {
    const InputTensor& input = find_input(network, request, spec);
    add_input(network, spec, input, *job);
    job->sources.push_back(static_cast<size_t>(&input - request.inputs.data()));
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
  for (size_t i = 0; i < job.data.size(); ++i) {
    if (awaits_decoding(job, i)) return true;
  }
  return false;
}

PixelCount pixels_to_decode(const Job& job) {
  PixelCount pixels;
  for (size_t i = 0; i < job.data.size(); ++i) {
    if (!awaits_decoding(job, i)) continue;
    for (const std::string& text : job.request.inputs[job.sources[i]].texts) {
      const data::PictureSize size = data::picture_size(text);
      pixels.sum += size.height * size.width;
      pixels.largest = std::max(pixels.largest, size.height * size.width);
    }
  }
  return pixels;
}

bool decode_picture(const Network& network, Job& job) {
  for (size_t i = 0; i < job.data.size(); ++i) {
    if (!awaits_decoding(job, i)) continue;
    const InputTensor& input = job.request.inputs[job.sources[i]];
    if (job.decoded == nullptr) job.decoded = std::make_shared<Tensor>(DType::kF32, job.shapes[i]);
    Tensor& batch = *job.decoded;
    // Rows were counted in add_pictures, so there is at least one.
    const auto picture_bytes = static_cast<size_t>(batch.num_bytes() / job.shapes[i][0]);
    const size_t row = job.next_picture++;
    const data::Image image =
        data::decode_image(input.texts[row], fmt::format("picture {} of the request", row));
    const Tensor pixels = network.input_of(image);
    std::memcpy(static_cast<std::byte*>(batch.data()) + row * picture_bytes, pixels.data(),
                picture_bytes);
    if (job.next_picture < input.texts.size()) return true;
    job.data[i] = static_cast<const std::byte*>(batch.data());
    job.request.owners.push_back(std::move(job.decoded));
    job.next_picture = 0;
    return true;
  }
  return false;
}

void decode_pictures(const Network& network, Job& job) {
  while (decode_picture(network, job)) {
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
