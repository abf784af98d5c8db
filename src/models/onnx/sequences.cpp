#include "models/onnx/sequences.h"

#include <algorithm>
#include <array>

#include "models/onnx/sequence_replacer.h"

namespace trainyard::onnx_io {
namespace {

constexpr std::array<std::string_view, 12> kSequenceOperators = {
    "ConcatFromSequence", "Optional",          "OptionalGetElement", "OptionalHasElement",
    "SequenceAt",         "SequenceConstruct", "SequenceEmpty",      "SequenceErase",
    "SequenceInsert",     "SequenceLength",    "SequenceMap",        "SplitToSequence"};

// Bodies are searched too: a plain graph may hold an If whose branches work on sequences.
bool has_sequences(const FileGraph& graph) {
  const auto is_listed = [](const DeclaredInput& input) {
    return input.form != DeclaredInput::Form::kTensor;
  };
  if (std::any_of(graph.inputs.begin(), graph.inputs.end(), is_listed)) return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const FileNode& node) {
    if (is_sequence_operator(node.op)) return true;
    return std::any_of(node.graphs.begin(), node.graphs.end(),
                       [](const auto& body) { return has_sequences(*body.second); });
  });
}

// `usual` is what an absent one means; none: it may not be absent.
int64_t int_attribute(const FileNode& node, const std::string& name, std::optional<int64_t> usual) {
  const auto found = node.attributes.find(name);
  TY_REQUIRE(found != node.attributes.end() || usual, "attribute '{}' is missing", name);
  if (found == node.attributes.end()) return *usual;
  const auto* value = std::get_if<int64_t>(&found->second);
  TY_REQUIRE(value != nullptr, "attribute '{}' is no integer", name);
  return *value;
}

}  // namespace

// Must run before rewrite(), which takes the lists and the known values from here. Values that the
// caller fixes count as constants, so they may be positions, lengths and numbers of rounds.
void SequenceReplacer::expand_inputs(const ImportOptions& options) {
  std::vector<DeclaredInput> inputs;
  for (const DeclaredInput& given : graph_.inputs) {
    if (given.form == DeclaredInput::Form::kTensor) {
      inputs.push_back(given);
      const auto value = options.values.find(given.name);
      if (value != options.values.end()) constants_[given.name] = value->second;
      continue;
    }
    const auto shapes = options.lists.find(given.name);
    TY_REQUIRE(shapes != options.lists.end(),
               "input '{}' is {}; only 'conformance' gives such inputs", given.name,
               given.form == DeclaredInput::Form::kSequence ? "a sequence" : "an optional value");
    Listed& listed = lists_[given.name];
    listed.present = shapes->second.has_value();
    listed.is_tensor = given.form == DeclaredInput::Form::kOptional;
    if (!listed.present) continue;
    TY_REQUIRE(!listed.is_tensor || shapes->second->size() == 1,
               "input '{}' is an optional tensor, but {} are given", given.name,
               shapes->second->size());
    for (const Shape& shape : *shapes->second) {
      DeclaredInput element;
      element.name = fmt::format("{}[{}]", given.name, listed.items.size());
      element.dtype = given.dtype;
      element.dims.emplace();
      for (const int64_t dim : shape.dims()) element.dims->push_back({dim, ""});
      listed.items.push_back(element.name);
      inputs.push_back(std::move(element));
    }
  }
  graph_.inputs = std::move(inputs);
}

void SequenceReplacer::rewrite() {
  for (const FileTensor& tensor : graph_.initializers) constants_[tensor.name] = tensor.data;
  for (const FileNode& node : graph_.nodes) add(node);
  std::vector<FileOutput> outputs;
  for (const FileOutput& given : graph_.outputs) {
    if (!is_list(given.name)) {
      outputs.push_back(given);
      continue;
    }
    const Listed listed = lists_[given.name];
    // Callers find the elements of an output by these names, so an element that was made under
    // another name is copied.
    for (size_t i = 0; i < listed.items.size(); ++i) {
      const std::string name = fmt::format("{}[{}]", given.name, i);
      if (name != listed.items[i]) emit("Identity", {listed.items[i]}, {name}, 17);
      outputs.push_back({name});
    }
  }
  graph_.outputs = std::move(outputs);
  graph_.nodes = std::move(nodes_);
}

SequenceReplacer::Handler SequenceReplacer::handler_of(const std::string& op) {
  using R = SequenceReplacer;
  static const std::map<std::string_view, Handler> kHandlers = {
      {"ConcatFromSequence", &R::concat},
      {"Identity", &R::add_identity},
      {"If", &R::add_if},
      {"Loop", &R::add_loop},
      {"Optional", &R::optional},
      {"OptionalGetElement", &R::get_element},
      {"OptionalHasElement", &R::has_element},
      {"SequenceAt", &R::at},
      {"SequenceConstruct", &R::construct},
      {"SequenceEmpty", &R::empty},
      {"SequenceErase", &R::erase},
      {"SequenceInsert", &R::insert},
      {"SequenceLength", &R::length},
      {"SequenceMap", &R::map},
      {"SplitToSequence", &R::split}};
  const auto found = kHandlers.find(op);
  return found == kHandlers.end() ? &R::add_plain : found->second;
}

void SequenceReplacer::add(const FileNode& node) {
  try {
    // An operator of another domain may share its name with one of ONNX and mean something else.
    const Handler handler =
        node.domain.empty() ? handler_of(node.op) : &SequenceReplacer::add_plain;
    (this->*handler)(node);
  } catch (const Error& problem) {
    throw_error("node '{}' ({}): {}", node.name, node.op, problem.what());
  }
}

void SequenceReplacer::add_plain(const FileNode& node) {
  for (const std::string& name : node.inputs) {
    TY_REQUIRE(!is_list(name), "its input '{}' is a sequence or an optional value", name);
  }
  // Remembered because positions and numbers of rounds are mostly Constant nodes, not initializers.
  if (const auto value = node.attributes.find("value");
      node.op == "Constant" && value != node.attributes.end() && !node.outputs.empty()) {
    if (const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&value->second)) {
      constants_[node.outputs[0]] = *tensor;
    }
  }
  FileNode copy = node;
  for (auto& [name, body] : copy.graphs) {
    std::map<size_t, Listed> lists;
    body = rewrite_body(*body, lists);
    TY_REQUIRE(lists.empty(), "its body gives a sequence");
  }
  push(std::move(copy));
}

void SequenceReplacer::add_identity(const FileNode& node) {
  name_output(input(node, 0), output(node), node.opset);
}

void SequenceReplacer::name_output(const std::string& made, const std::string& wanted,
                                   int64_t opset) {
  if (is_list(made)) {
    lists_[wanted] = Listed(lists_[made]);
    return;
  }
  if (const auto known = constants_.find(made); known != constants_.end()) {
    constants_[wanted] = std::shared_ptr<const Tensor>(known->second);
  }
  emit("Identity", {made}, {wanted}, opset);
}

void SequenceReplacer::insert(const FileNode& node) {
  Listed listed = sequence(input(node, 0));
  const size_t places = listed.items.size();
  const bool given = node.inputs.size() > 2 && !node.inputs[2].empty();
  size_t where = places;
  // The place behind the last is one too, but places before it are counted from the last element.
  if (given && known(input(node, 2), "its position") != static_cast<int64_t>(places)) {
    where = position(node, 2, places);
  }
  listed.items.insert(listed.items.begin() + static_cast<int64_t>(where), input(node, 1));
  lists_[output(node)] = std::move(listed);
}

void SequenceReplacer::erase(const FileNode& node) {
  Listed listed = sequence(input(node, 0));
  TY_REQUIRE(!listed.items.empty(), "the sequence is empty");
  const bool given = node.inputs.size() > 1 && !node.inputs[1].empty();
  const size_t where = given ? position(node, 1, listed.items.size()) : listed.items.size() - 1;
  listed.items.erase(listed.items.begin() + static_cast<int64_t>(where));
  lists_[output(node)] = std::move(listed);
}

// The element itself, which may be a list again.
void SequenceReplacer::at(const FileNode& node) {
  const Listed listed = sequence(input(node, 0));
  name_output(listed.items[position(node, 1, listed.items.size())], output(node), node.opset);
}

void SequenceReplacer::length(const FileNode& node) {
  const auto count = static_cast<int64_t>(sequence(input(node, 0)).items.size());
  emit_constant(output(node), Tensor::scalar<int64_t>(count), node.opset);
}

// Unsqueeze in opset 17: `axes` is an input there (since 13), whatever the file's own opset.
void SequenceReplacer::concat(const FileNode& node) {
  std::vector<std::string> parts = sequence(input(node, 0)).items;
  const std::vector<int64_t> axis = {int_attribute(node, "axis", std::nullopt)};
  if (int_attribute(node, "new_axis", 0) != 0) {
    const std::string axes = fresh(output(node) + ".axes");
    emit_constant(axes, Tensor::of_ints(axis), 17);
    for (std::string& part : parts) {
      const std::string name = fresh(output(node) + ".part");
      emit("Unsqueeze", {part, axes}, {name}, 17);
      part = name;
    }
  }
  emit("Concat", std::move(parts), {output(node)}, node.opset, {{"axis", axis[0]}});
}

std::vector<int64_t> SequenceReplacer::split_sizes(const FileNode& node) const {
  const bool given = node.inputs.size() > 1 && !node.inputs[1].empty();
  const Tensor* sizes = given ? constant(node.inputs[1]) : nullptr;
  TY_REQUIRE(!given || sizes != nullptr, "only known sizes say how many parts there are");
  // A list of sizes says it all; a scalar is the size of every part but the last; without either,
  // parts have one element (ONNX, SplitToSequence).
  if (given && sizes->shape().rank() == 1) return to_ints(*sizes);
  TY_REQUIRE(!given || sizes->num_elements() == 1,
             "the sizes of its parts have shape {}, expected one size or a list of them",
             sizes->shape().to_string());
  const auto from = std::find_if(graph_.inputs.begin(), graph_.inputs.end(),
                                 [&](const auto& x) { return x.name == input(node, 0); });
  const bool has_rank = from != graph_.inputs.end() && from->dims.has_value();
  TY_REQUIRE(
      has_rank && !from->dims->empty(),
      "only an input of known shape, or a known list of sizes, says how many parts there are");
  const auto rank = static_cast<int64_t>(from->dims->size());
  const int64_t axis = normalize_axis(int_attribute(node, "axis", 0), rank, node.op);
  const std::optional<int64_t> length = (*from->dims)[static_cast<size_t>(axis)].value;
  const int64_t part = given ? element_as_int(*sizes, 0) : 1;
  TY_REQUIRE(length.has_value(),
             "the length of axis {}, which says how many parts there are, is open", axis);
  // Counted before the list is made: an axis of a hostile file may be of any length.
  TY_REQUIRE(part > 0, "parts of {} elements", part);
  TY_REQUIRE(*length / part < static_cast<int64_t>(kMostNodes), "it makes more than {} parts",
             kMostNodes);
  std::vector<int64_t> parts;
  // Counted down, since sums of parts may exceed the largest integer.
  for (int64_t left = *length; left > 0; left -= parts.back())
    parts.push_back(std::min(part, left));
  return parts;
}

void SequenceReplacer::split(const FileNode& node) {
  const std::vector<int64_t> sizes = split_sizes(node);
  // ONNX ignores `keepdims` when sizes are given.
  const bool drops_axis =
      (node.inputs.size() < 2 || node.inputs[1].empty()) && int_attribute(node, "keepdims", 1) == 0;
  const int64_t axis = int_attribute(node, "axis", 0);
  const std::string list_of_sizes = fresh(output(node) + ".sizes");
  emit_constant(list_of_sizes, Tensor::of_ints(sizes), 17);
  Listed listed;
  for (size_t i = 0; i < sizes.size(); ++i) {
    listed.items.push_back(fmt::format("{}[{}]", output(node), i));
  }
  std::vector<std::string> parts = listed.items;
  if (drops_axis) {
    for (std::string& part : parts) part = fresh(part + ".part");
  }
  emit("Split", {input(node, 0), list_of_sizes}, parts, 13, {{"axis", axis}});
  if (drops_axis) {
    const std::string axes = fresh(output(node) + ".axes");
    emit_constant(axes, Tensor::of_ints(std::vector<int64_t>{axis}), 17);
    for (size_t i = 0; i < parts.size(); ++i) {
      emit("Squeeze", {parts[i], axes}, {listed.items[i]}, 13);
    }
  }
  lists_[output(node)] = std::move(listed);
}

// An optional sequence is kept as the sequence; only an optional tensor needs a list of its own.
void SequenceReplacer::optional(const FileNode& node) {
  if (node.inputs.empty() || node.inputs[0].empty()) {
    lists_[output(node)] = {{}, false, false};
  } else if (is_list(node.inputs[0])) {
    lists_[output(node)] = Listed(lists_[node.inputs[0]]);
  } else {
    lists_[output(node)] = {{node.inputs[0]}, true, true};
  }
}

// Opset 18 lets both operators take plain tensors and sequences, which are always present.
void SequenceReplacer::has_element(const FileNode& node) {
  bool present = !node.inputs.empty() && !node.inputs[0].empty();
  if (present && is_list(node.inputs[0])) present = lists_[node.inputs[0]].present;
  emit_constant(output(node), Tensor::scalar<bool>(present), node.opset);
}

void SequenceReplacer::get_element(const FileNode& node) {
  const std::string& name = input(node, 0);
  if (!is_list(name)) return name_output(name, output(node), node.opset);
  const Listed listed = list(name);
  if (listed.is_tensor) return name_output(listed.items[0], output(node), node.opset);
  lists_[output(node)] = listed;
}

bool is_sequence_operator(const std::string& op) {
  return std::find(kSequenceOperators.begin(), kSequenceOperators.end(), op) !=
         kSequenceOperators.end();
}

void replace_sequences(FileGraph& graph, const ImportOptions& options) {
  if (!has_sequences(graph)) return;
  SequenceReplacer replacer(graph);
  replacer.expand_inputs(options);
  replacer.rewrite();
}

}  // namespace trainyard::onnx_io
