#include "serve/models/rows.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/table/table_set.h"
#include "http/status.h"
#include "serve/models/pictures.h"

namespace trainyard::serve {
namespace {

// Numbers of a tensor, which the request keeps alive.
void give(std::shared_ptr<Tensor> rows, InputTensor& input, InferRequest& request) {
  input.dtype = DType::kF32;
  input.shape = {rows->shape()[0], rows->shape()[1]};
  input.data = static_cast<const std::byte*>(rows->data());
  input.bytes = static_cast<size_t>(rows->num_bytes());
  input.texts.clear();
  request.owners.push_back(std::move(rows));
}

std::shared_ptr<Tensor> encoded(const InputTensor& input, const data::TableSchema& schema) {
  const int64_t columns = schema.columns_count();
  const auto cells = static_cast<int64_t>(input.texts.size());
  TY_REQUIRE(
      cells > 0 && cells % columns == 0 && (input.shape.empty() || input.shape.back() == columns),
      "{} cells, expected a number of rows times {} columns", cells, columns);
  auto rows = std::make_shared<Tensor>(DType::kF32, Shape{cells / columns, columns});
  for (int64_t i = 0; i < cells; ++i) {
    const auto at = static_cast<size_t>(i);
    rows->values<float>()[at] =
        data::encode_cell(schema.columns[at % schema.columns.size()], input.texts[at],
                          fmt::format("row {}", i / columns + 1));
  }
  return rows;
}

}  // namespace

bool is_rows_body(std::string_view body, const Network& network) {
  const size_t begin = body.find_first_not_of(" \t\r\n");
  return network.table() && !network.inputs().empty() && begin != std::string_view::npos &&
         body[begin] != '{';
}

InferRequest read_rows_body(const Body& body, const Network& network) {
  InferRequest request = best_of_each(network);
  request.inputs.push_back({.name = network.inputs()[0].name, .dtype = {}, .shape = {}});
  try {
    auto rows = std::make_shared<Tensor>(
        data::parse_rows(std::string(*body), "the body", *network.table()));
    give(std::move(rows), request.inputs[0], request);
  } catch (const Error& error) {
    refuse(Status::kBadRequest, "{}", error.what());
  }
  return request;
}

void encode_cells(const Network& network, InferRequest& request) {
  if (!network.table() || network.inputs().empty()) return;
  for (InputTensor& input : request.inputs) {
    if (input.dtype || input.name != network.inputs()[0].name) continue;
    try {
      give(encoded(input, *network.table()), input, request);
    } catch (const Error& error) {
      refuse(Status::kBadRequest, "input '{}': {}", input.name, error.what());
    }
  }
}

}  // namespace trainyard::serve
