#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "http/status.h"
#include "serve/protocol/json_data.h"
#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {
namespace {

// Writes JSON by hand, since the numbers of a tensor are appended without a tree in between. Lives
// for one response; blobs point into the result, or into `owned_`.
class ResponseWriter {
 public:
  ResponseWriter(const InferRequest& request, const InferResult& result,
                 std::span<const std::string> labels)
      : request_(request), result_(result), labels_(labels) {}

  V2Response write() {
    json_.reserve(512);
    json_ = "{\"model_name\":";
    append_text(json_, result_.model);
    json_ += ",\"model_version\":";
    append_text(json_, result_.version);
    // The id and the parameters come back as they were given (Open Inference Protocol).
    if (!request_.id.empty()) {
      json_ += ",\"id\":";
      append_text(json_, request_.id);
    }
    if (!request_.parameters.is_null()) {
      json_ += ",\"parameters\":" + request_.parameters.dump(-1);
    }
    json_ += ",\"outputs\":[";
    if (request_.outputs.empty()) {
      for (const OutputTensor& output : result_.outputs) {
        write_output({.name = output.name, .binary = request_.all_binary}, output);
      }
    }
    for (const RequestedOutput& wanted : request_.outputs) {
      write_output(wanted, find_output(result_, wanted.name));
    }
    json_ += "]}";
    // With the binary extension the blobs follow the JSON in the order of their outputs, and
    // json_bytes tells the client where they begin.
    V2Response response{.body = std::move(json_)};
    if (any_binary_) {
      response.json_bytes = response.body.size();
      size_t total = response.body.size();
      for (const std::string_view blob : blobs_) total += blob.size();
      response.body.reserve(total);
      for (const std::string_view blob : blobs_) response.body += blob;
    }
    return response;
  }

 private:
  void open(std::string_view name, std::string_view datatype, std::span<const int64_t> dims) {
    if (json_.back() != '[') json_ += ',';
    json_ += "{\"name\":";
    append_text(json_, name);
    json_.append(",\"datatype\":\"").append(datatype).append("\",\"shape\":[");
    for (const int64_t dim : dims) {
      if (json_.back() != '[') json_ += ',';
      json_ += std::to_string(dim);
    }
    json_ += ']';
  }

  void write_blob(std::string_view bytes) {
    json_.append(",\"parameters\":{\"binary_data_size\":")
        .append(std::to_string(bytes.size()))
        .append("}}");
    blobs_.push_back(bytes);
    any_binary_ = true;
  }

  // A tensor whose place is not the answer.
  void write_to_memory(const RequestedOutput& wanted, std::string_view bytes) {
    write_shared(*wanted.shared, bytes, wanted.name);
    json_ += ",\"parameters\":" + shared_parameters(*wanted.shared, bytes.size()).dump(-1) + "}";
  }

  void write_output(const RequestedOutput& wanted, const OutputTensor& output) {
    const Tensor& tensor = output.data;
    if (wanted.classes > 0) {
      const auto [texts, dims] = best_classes(tensor, wanted.classes, labels_, result_.has_rows);
      return write_texts(wanted, texts, dims);
    }
    if (tensor.dtype() == DType::kText) {
      return write_texts(wanted, output.texts, tensor.shape().dims());
    }
    open(wanted.name, protocol_name(tensor.dtype()), tensor.shape().dims());
    const std::string_view bytes(static_cast<const char*>(tensor.data()),
                                 static_cast<size_t>(tensor.num_bytes()));
    if (wanted.shared) return write_to_memory(wanted, bytes);
    if (wanted.binary) return write_blob(bytes);
    json_ += ",\"data\":";
    append_numbers(json_, tensor);
    json_ += '}';
  }

  void write_texts(const RequestedOutput& wanted, std::span<const std::string> texts,
                   std::span<const int64_t> dims) {
    open(wanted.name, "BYTES", dims);
    if (wanted.shared) return write_to_memory(wanted, join_texts(texts));
    // On the heap, so that views of earlier texts stay valid when the list grows.
    if (wanted.binary) {
      owned_.push_back(std::make_unique<std::string>(join_texts(texts)));
      return write_blob(*owned_.back());
    }
    json_ += ",\"data\":[";
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) json_ += ',';
      if (!is_utf8(texts[i])) {
        refuse(Status::kBadRequest,
               "output '{}', element {} is no UTF-8, which JSON cannot carry; ask for binary_data",
               wanted.name, i);
      }
      append_text(json_, texts[i]);
    }
    json_ += "]}";
  }

  const InferRequest& request_;
  const InferResult& result_;
  std::span<const std::string> labels_;
  std::string json_;
  std::vector<std::string_view> blobs_;
  std::vector<std::unique_ptr<std::string>> owned_;
  bool any_binary_ = false;
};

}  // namespace

const OutputTensor& find_output(const InferResult& result, const std::string& name) {
  std::vector<std::string> names;
  for (const OutputTensor& output : result.outputs) {
    if (output.name == name) return output;
    names.push_back(output.name);
  }
  refuse(Status::kBadRequest, "model '{}' has no output '{}'.{} It has {}", result.model, name,
         did_you_mean(name, names), join(names, ", "));
}

// Triton's classification extension: "score:index" or "score:index:label", best first.
BestClasses best_classes(const Tensor& scores, int64_t count, std::span<const std::string> labels,
                         bool has_rows) {
  if (scores.dtype() == DType::kText) {
    refuse(Status::kBadRequest, "classification needs numbers, and the output has texts");
  }
  const Shape& shape = scores.shape();
  // All dimensions but the first count as classes; a tensor of rank 1 is one row.
  has_rows = has_rows && shape.rank() > 1;
  const int64_t rows = has_rows ? shape[0] : 1;
  const int64_t classes = rows > 0 ? scores.num_elements() / rows : 0;
  std::vector<std::string> texts;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> values(static_cast<size_t>(classes));
    for (int64_t i = 0; i < classes; ++i) {
      values[static_cast<size_t>(i)] = element_as_double(scores, row * classes + i);
    }
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto most = static_cast<ptrdiff_t>(std::min(count, classes));
    std::partial_sort(order.begin(), order.begin() + most, order.end(),
                      [&](size_t a, size_t b) { return values[a] > values[b]; });
    for (ptrdiff_t i = 0; i < most; ++i) {
      const size_t index = order[static_cast<size_t>(i)];
      texts.push_back(fmt::format("{:f}:{}", values[index], index));
      if (index < labels.size()) texts.back() += ":" + labels[index];
    }
  }
  std::vector<int64_t> dims = {rows, std::min(count, classes)};
  if (!has_rows) dims.erase(dims.begin());
  return {std::move(texts), std::move(dims)};
}

std::string join_texts(std::span<const std::string> texts) {
  std::string out;
  // Each text behind its length, 4 bytes little-endian, as BYTES tensors are in binary form.
  for (const std::string& text : texts) {
    const auto size = static_cast<uint32_t>(text.size());
    out.append(reinterpret_cast<const char*>(&size), sizeof size);
    out += text;
  }
  return out;
}

V2Response write_v2_response(const InferRequest& request, const InferResult& result,
                             std::span<const std::string> labels) {
  return ResponseWriter(request, result, labels).write();
}

}  // namespace trainyard::serve
