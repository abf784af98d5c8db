#include "program/expected_outputs.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "program/output_files.h"
#include "runs/weights/stored_zip.h"
#include "tensor/npy.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

// A folder that is gone afterwards.
class WorkFolder {
 public:
  WorkFolder() : path_((fs::temp_directory_path() / "trainyard-XXXXXX").string()) {
    TY_REQUIRE(mkdtemp(path_.data()) != nullptr, "cannot make a folder {}", path_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  fs::path operator/(const std::string& name) const { return fs::path(path_) / name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Arguments: the model, a folder, names of inputs (files N.npy), "--", names of outputs.
constexpr const char* kSession = R"(
import sys
try:
    import numpy, onnxruntime
except ImportError as error:
    sys.exit(f'{error} (pip install onnxruntime)')
model, folder, *names = sys.argv[1:]
cut = names.index('--')
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
feeds = {name: numpy.load(f'{folder}/in{i}.npy') for i, name in enumerate(names[:cut])}
for i, value in enumerate(session.run(names[cut + 1:], feeds)):
    numpy.save(f'{folder}/out{i}.npy', value)
)";

NamedTensors read_npz(const std::string& path, const std::vector<std::string>& names) {
  const std::string bytes = read_file(path);
  const runs::StoredZip zip(std::as_bytes(std::span(bytes)), path);
  NamedTensors found;
  for (const std::string& name : names) {
    const std::string record = name + ".npy";
    if (!zip.records().contains(record)) continue;
    const auto content = zip.read(record).bytes;
    found.emplace(name, parse_npy({reinterpret_cast<const char*>(content.data()), content.size()},
                                  path + ": " + record));
  }
  return found;
}

NamedTensors read_folder(const fs::path& folder, const std::vector<std::string>& names) {
  const std::vector<std::string> files = output_files(names);
  NamedTensors found;
  for (size_t i = 0; i < names.size(); ++i) {
    if (fs::is_regular_file(folder / files[i])) {
      found.emplace(names[i], read_npy(folder / files[i]));
    }
  }
  return found;
}

struct Distance {
  double largest = 0;
  int64_t beyond = 0;  // elements that do not agree
};

Distance distance(const Tensor& ours, const Tensor& theirs, const Tolerance& tolerance) {
  const Tensor own = cast(ours, DType::kF64);
  const Tensor other = cast(theirs, DType::kF64);
  Distance result;
  for (size_t i = 0; i < own.values<double>().size(); ++i) {
    const double a = own.values<double>()[i];
    const double b = other.values<double>()[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double apart = std::abs(a - b);
    if (!(apart <= tolerance.absolute + tolerance.relative * std::abs(b))) ++result.beyond;
    result.largest = std::isnan(apart) ? apart : std::max(result.largest, apart);
  }
  return result;
}

}  // namespace

NamedTensors read_expected(const std::string& path, const std::vector<std::string>& names) {
  NamedTensors found;
  if (fs::is_directory(path)) {
    found = read_folder(path, names);
  } else if (path.ends_with(".npz")) {
    found = read_npz(path, names);
  } else {
    TY_REQUIRE(path.ends_with(".npy") && names.size() == 1,
               "--expect {}: expected F.npz, a folder of NAME.npy, onnxruntime or reference{}",
               path, path.ends_with(".npy") ? "; F.npy is for networks with one output" : "");
    found.emplace(names[0], read_npy(path));
  }
  TY_REQUIRE(!found.empty(), "{} has none of the outputs {}", path, join(names, ", "));
  return found;
}

NamedTensors outputs_of_onnxruntime(const std::string& model, const NamedTensors& inputs,
                                    const std::vector<std::string>& names) {
  const WorkFolder folder;
  std::vector<std::string> command = {"python3", "-c", kSession, model, folder.path()};
  int64_t count = 0;
  for (const auto& [name, tensor] : inputs) {
    write_npy(folder / fmt::format("in{}.npy", count++), tensor);
    command.push_back(name);
  }
  command.emplace_back("--");
  command.insert(command.end(), names.begin(), names.end());
  const fs::path log = folder / "log";
  const ChildProcess child(command, {.log = log});
  std::string output;
  constexpr int kWaitMs = 1000;
  while (child.read_some(output, kWaitMs)) {
  }
  if (child.wait() != 0) {
    std::vector<std::string> lines = split(read_file(log), '\n');
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    throw_error("ONNX Runtime did not run {}: {}", model, lines.empty() ? "" : lines.back());
  }
  NamedTensors found;
  for (size_t i = 0; i < names.size(); ++i) {
    found.emplace(names[i], read_npy(folder / fmt::format("out{}.npy", i)));
  }
  return found;
}

bool add_comparison(report::Document& document, const std::string& source, const NamedTensors& ours,
                    const NamedTensors& theirs, const Tolerance& tolerance) {
  report::Table table({{"output", report::Align::kLeft},
                       {"elements"},
                       {"largest difference"},
                       {"beyond the tolerance"}});
  Json rows = Json::array();
  bool agree = true;
  for (const auto& [name, expected] : theirs) {
    const Tensor& own = ours.at(name);
    TY_REQUIRE(own.shape() == expected.shape(), "output '{}' is {}, but {} has {}", name,
               own.type().to_string(), source, expected.type().to_string());
    const Distance apart = distance(own, expected, tolerance);
    agree = agree && apart.beyond == 0;
    table.add_row({name, report::count_cell(own.shape().num_elements()),
                   fmt::format("{:.2g}", apart.largest), report::count_cell(apart.beyond)});
    rows.push_back(Json::object({{"name", name},
                                 {"elements", own.shape().num_elements()},
                                 {"largest", apart.largest},
                                 {"beyond", apart.beyond}}));
  }
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("The outputs {} those of {} within {:g}{}.",
                  agree ? "agree with" : "do not agree with", source, tolerance.absolute,
                  tolerance.relative > 0 ? fmt::format(" + {:g} of the value", tolerance.relative)
                                         : std::string())});
  document.blocks.emplace_back(std::move(table));
  document.data["expected"] = Json::object({{"source", source},
                                            {"agree", agree},
                                            {"tolerance", tolerance.absolute},
                                            {"relative", tolerance.relative},
                                            {"outputs", std::move(rows)}});
  return agree;
}

}  // namespace trainyard::cli
