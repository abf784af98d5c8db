#include "models/onnx/functions.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "models/onnx/graph_importer.h"

namespace trainyard::onnx_io {
namespace {

// What functions may make of a small file, and of each node that a larger one has: a few kilobytes
// of functions that call each other twice would take minutes and gigabytes.
constexpr size_t kMostFromLittle = 30'000;
constexpr size_t kMostFromEach = 16;
constexpr int kDeepestCall = 64;

using Names = std::unordered_map<std::string, std::string>;

std::string key_of(const std::string& domain, const std::string& name) {
  return domain + ":" + name;
}

class Inliner {
 public:
  Inliner(const std::vector<FileFunction>& functions, size_t own_nodes) {
    size_t written = own_nodes;
    for (const FileFunction& function : functions) {
      functions_[key_of(function.domain, function.name)] = &function;
      written += function.nodes.size();
    }
    most_ = kMostFromLittle + kMostFromEach * written;
  }

  // Replaces calls in place. Used for bodies of control flow too, so that calls inside them count
  // towards the same limit.
  void rewrite(std::vector<FileNode>& nodes) {
    std::vector<FileNode> out;
    for (FileNode& node : nodes) add(std::move(node), out);
    nodes = std::move(out);
  }

 private:
  const FileFunction* find(const FileNode& node) const {
    const auto found = functions_.find(key_of(node.domain, node.op));
    return found == functions_.end() ? nullptr : found->second;
  }

  // Every node met counts, calls included: functions that call one another several times each make
  // a number of nodes that is exponential in their depth.
  void add(FileNode node, std::vector<FileNode>& out) {
    TY_REQUIRE(++nodes_ <= most_, "its functions make more than {} nodes", most_);
    const FileFunction* function = find(node);
    if (function != nullptr) return call(*function, node, out);
    for (auto& [name, body] : node.graphs) {
      auto copy = std::make_shared<FileGraph>(*body);
      rewrite(copy->nodes);
      body = std::move(copy);
    }
    out.push_back(std::move(node));
  }

  void call(const FileFunction& function, const FileNode& caller, std::vector<FileNode>& out);

  std::unordered_map<std::string, const FileFunction*> functions_;
  std::vector<std::string> calls_;  // that are being replaced, outermost first
  size_t nodes_ = 0;
  size_t most_ = 0;
  int64_t called_ = 0;
};

// What names of the function mean at the caller; others get the prefix when they are met.
struct Renaming {
  Names names;
  // An empty name is an absent input or output and stays one.
  std::string prefix;

  std::string operator()(const std::string& name) {
    if (name.empty()) return name;
    return names.try_emplace(name, prefix + name).first->second;
  }
};

void rename_body(FileGraph& body, Renaming& rename);

void rename_node(FileNode& node, Renaming& rename) {
  for (std::string& name : node.inputs) name = rename(name);
  for (std::string& name : node.outputs) name = rename(name);
  if (!node.name.empty()) node.name = rename.prefix + node.name;
  for (auto& [name, body] : node.graphs) {
    auto copy = std::make_shared<FileGraph>(*body);
    rename_body(*copy, rename);
    body = std::move(copy);
  }
}

void rename_body(FileGraph& body, Renaming& rename) {
  for (DeclaredInput& input : body.inputs) input.name = rename(input.name);
  for (FileTensor& tensor : body.initializers) tensor.name = rename(tensor.name);
  for (FileNode& node : body.nodes) rename_node(node, rename);
  for (FileOutput& output : body.outputs) output.name = rename(output.name);
}

// The caller's attributes in the places that refer to them; one that is given nowhere is absent.
void give_attributes(FileNode& node, const Attributes& given, const Attributes& defaults) {
  for (const auto& [name, reference] : node.references) {
    const auto found = given.find(reference);
    const auto fallback = defaults.find(reference);
    if (found != given.end()) {
      node.attributes[name] = found->second;
    } else if (fallback != defaults.end()) {
      node.attributes[name] = fallback->second;
    }
  }
  node.references.clear();
  for (auto& [name, body] : node.graphs) {
    auto copy = std::make_shared<FileGraph>(*body);
    for (FileNode& inner : copy->nodes) give_attributes(inner, given, defaults);
    body = std::move(copy);
  }
}

// Recursion is refused rather than bounded (ONNX forbids it). A trailing input that the caller
// leaves out is absent inside the function.
void Inliner::call(const FileFunction& function, const FileNode& caller,
                   std::vector<FileNode>& out) {
  const std::string key = key_of(function.domain, function.name);
  TY_REQUIRE(std::find(calls_.begin(), calls_.end(), key) == calls_.end(),
             "function '{}' calls itself ({})", function.name, join(calls_, " > "));
  TY_REQUIRE(static_cast<int>(calls_.size()) < kDeepestCall, "functions call each other {} deep",
             kDeepestCall);
  TY_REQUIRE(caller.inputs.size() <= function.inputs.size() &&
                 caller.outputs.size() <= function.outputs.size(),
             "node '{}': function '{}' takes {} inputs and gives {} outputs, found {} and {}",
             caller.name, function.name, function.inputs.size(), function.outputs.size(),
             caller.inputs.size(), caller.outputs.size());
  Renaming rename;
  // The count keeps two calls apart whose nodes have the same name or none.
  const std::string base = caller.name.empty() ? function.name : caller.name;
  rename.prefix = fmt::format("{}.{}/", base, ++called_);
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    rename.names[function.inputs[i]] = i < caller.inputs.size() ? caller.inputs[i] : "";
  }
  std::vector<FileNode> passed;  // an output that is an input needs a node to change its name
  for (size_t i = 0; i < caller.outputs.size(); ++i) {
    if (caller.outputs[i].empty()) continue;
    const auto [at, fresh] = rename.names.emplace(function.outputs[i], caller.outputs[i]);
    if (fresh) continue;
    FileNode copy;
    copy.op = "Identity";
    copy.opset = caller.opset;
    copy.inputs = {at->second};
    copy.outputs = {caller.outputs[i]};
    passed.push_back(std::move(copy));
  }
  calls_.push_back(key);
  // References are resolved before add(), which may take the node for a call and hand these
  // attributes on.
  for (FileNode node : function.nodes) {
    give_attributes(node, caller.attributes, function.defaults);
    rename_node(node, rename);
    add(std::move(node), out);
  }
  calls_.pop_back();
  for (FileNode& copy : passed) out.push_back(std::move(copy));
}

}  // namespace

FileGraph with_prefix(const FileGraph& graph, const std::string& prefix) {
  Renaming rename;
  rename.prefix = prefix;
  for (const std::string& name : free_names(graph)) rename.names[name] = name;
  FileGraph copy = graph;
  rename_body(copy, rename);
  return copy;
}

void inline_functions(const std::vector<FileFunction>& functions, FileGraph& graph) {
  if (!functions.empty()) Inliner(functions, graph.nodes.size()).rewrite(graph.nodes);
}

}  // namespace trainyard::onnx_io
