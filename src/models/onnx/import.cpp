#include "models/onnx/import.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "models/onnx/bind_inputs.h"
#include "models/onnx/external_data.h"
#include "models/onnx/graph_importer.h"
#include "models/onnx/model_reader.h"
#include "models/onnx/model_snapshot.h"
#include "models/onnx/sequences.h"

namespace trainyard::onnx_io {
namespace {

Graph import_graph(FileGraph file, const ImportOptions& options) {
  replace_sequences(file, options);
  ImportBudget budget;
  return GraphImporter(file, budget).run(bind_inputs(file.inputs, options));
}

// Names come from the file: control characters would play tricks on a terminal.
std::string printable(std::string_view text) {
  constexpr size_t kLongest = 4000;
  std::string out(text.substr(0, kLongest));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return out;
}

template <typename Function>
auto naming(std::string_view origin, const Function& function) {
  try {
    return function();
  } catch (const UnsupportedOperators& problem) {
    throw UnsupportedOperators(fmt::format("{}: {}", origin, printable(problem.what())));
  } catch (const Error& problem) {
    throw_error("{}: {}", origin, printable(problem.what()));
  }
}

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

Graph import_model(const std::filesystem::path& path, const ImportOptions& options) {
  const auto file = std::make_shared<MappedFile>(path);
  return naming(path.string(), [&] {
    return import_graph(read_model(file->bytes(), file, folder_of(path)), options);
  });
}

DeclaredValues declared_values(const std::filesystem::path& path) {
  const auto file = std::make_shared<MappedFile>(path);
  return naming(path.string(), [&] {
    const FileGraph graph = read_model(file->bytes(), file, folder_of(path));
    DeclaredValues values{graph.inputs, {}};
    for (const FileOutput& output : graph.outputs) values.outputs.push_back(output.form);
    return values;
  });
}

std::vector<DeclaredInput> declared_inputs(const std::filesystem::path& path) {
  const auto file = std::make_shared<MappedFile>(path);
  return naming(path.string(),
                [&] { return read_model(file->bytes(), file, folder_of(path)).inputs; });
}

Graph import_bytes(std::string_view bytes, std::string_view origin, const ImportOptions& options) {
  return naming(origin, [&] {
    return import_graph(read_model(bytes_of(bytes), nullptr, std::filesystem::path()), options);
  });
}

ModelSnapshot::ModelSnapshot(const std::filesystem::path& path)
    : path_(path),
      bytes_(read_file(path)),
      files_(std::make_shared<ExternalFiles>(folder_of(path), ExternalFiles::Form::kHeld)) {}

ModelSnapshot::ModelSnapshot(std::string bytes, const std::string& origin)
    : path_(origin),
      bytes_(std::move(bytes)),
      files_(std::make_shared<ExternalFiles>(std::filesystem::path(), ExternalFiles::Form::kHeld)) {
}

ModelSnapshot::~ModelSnapshot() = default;

Bytes ModelSnapshot::bytes() const {
  return bytes_of(bytes_);
}

FileGraph ModelSnapshot::read() const {
  return read_model(bytes(), nullptr, files_);
}

Graph ModelSnapshot::import(const ImportOptions& options) const {
  return naming(path_.string(), [&] { return import_graph(read(), options); });
}

std::optional<std::vector<Tensor>> import_value(const std::filesystem::path& path,
                                                DeclaredInput::Form form) {
  const auto file = std::make_shared<MappedFile>(path);
  return naming(path.string(),
                [&] { return read_value(file->bytes(), file, folder_of(path), form); });
}

}  // namespace trainyard::onnx_io
