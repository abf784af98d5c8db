// How sequences.h does it. Names of sequences stand for lists of names of tensors; nodes are gone
// through in the order of the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "models/onnx/import.h"
#include "models/onnx/model_reader.h"

namespace trainyard::onnx_io {

// A sequence, or an optional value, which may be absent.
struct Listed {
  std::vector<std::string> items;
  bool present = true;
  bool is_tensor = false;  // an optional tensor
};

class SequenceReplacer {
 public:
  explicit SequenceReplacer(FileGraph& graph) : graph_(graph) {}

  void expand_inputs(const ImportOptions& options);
  void rewrite();

 private:
  using Handler = void (SequenceReplacer::*)(const FileNode&);

  static constexpr size_t kMostNodes = 100'000;

  static Handler handler_of(const std::string& op);
  void add(const FileNode& node);
  void add_plain(const FileNode& node);
  void add_identity(const FileNode& node);
  void empty(const FileNode& node) { lists_[output(node)] = {}; }
  void construct(const FileNode& node) { lists_[output(node)] = {node.inputs, true, false}; }
  void insert(const FileNode& node);
  void erase(const FileNode& node);
  void at(const FileNode& node);
  void length(const FileNode& node);
  void concat(const FileNode& node);
  void split(const FileNode& node);
  // Of the parts, along the axis.
  std::vector<int64_t> split_sizes(const FileNode& node) const;
  void optional(const FileNode& node);
  void has_element(const FileNode& node);
  void get_element(const FileNode& node);
  void map(const FileNode& node);
  void add_if(const FileNode& node);
  void add_loop(const FileNode& node);
  void unroll(const FileNode& node, const FileGraph& body);

  // A body in place: its nodes with a prefix before their names, its inputs meaning `given`.
  // Returns the names of its outputs.
  std::vector<std::string> inline_body(const FileGraph& body, const std::vector<std::string>& given,
                                       const FileNode& from);
  // A body as it stays, without sequences inside; `outputs` of it that are lists, by position.
  std::shared_ptr<const FileGraph> rewrite_body(const FileGraph& body,
                                                std::map<size_t, Listed>& outputs);
  void name_output(const std::string& made, const std::string& wanted, int64_t opset);

  static const std::string& output(const FileNode& node) {
    TY_REQUIRE(!node.outputs.empty(), "it has no output");
    return node.outputs[0];
  }
  static const std::string& input(const FileNode& node, size_t i) {
    TY_REQUIRE(i < node.inputs.size() && !node.inputs[i].empty(), "input {} is missing", i);
    return node.inputs[i];
  }
  Listed& list(const std::string& name) {
    const auto found = lists_.find(name);
    TY_REQUIRE(found != lists_.end(), "'{}' is not a sequence, or is made later", name);
    TY_REQUIRE(found->second.present, "'{}' is absent", name);
    return found->second;
  }
  // As list(), but of a sequence: an optional tensor always has its one item.
  Listed& sequence(const std::string& name) {
    Listed& found = list(name);
    TY_REQUIRE(!found.is_tensor, "'{}' is an optional tensor, expected a sequence", name);
    return found;
  }
  bool is_list(const std::string& name) const { return lists_.contains(name); }
  const Tensor* constant(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second.get();
  }
  int64_t known(const std::string& name, std::string_view what) const {
    const Tensor* value = constant(name);
    TY_REQUIRE(value != nullptr && value->num_elements() == 1,
               "{} ('{}') is only known at run time, which is not supported for sequences", what,
               name);
    return element_as_int(*value, 0);
  }
  // A position of `list`, of which there are `places`.
  size_t position(const FileNode& node, size_t i, size_t places) const {
    const auto count = static_cast<int64_t>(places);
    const int64_t given = known(input(node, i), "its position");
    TY_REQUIRE(-count <= given && given < count, "position {} is outside of {} elements", given,
               count);
    return static_cast<size_t>(given < 0 ? given + count : given);
  }
  // Throws Error when the graph and all its bodies have more than the limit.
  void spend(size_t count) {
    *spent_ += count;
    TY_REQUIRE(*spent_ <= kMostNodes, "its sequences make more than {} nodes", kMostNodes);
  }
  void push(FileNode node) {
    spend(1);
    nodes_.push_back(std::move(node));
  }
  void emit(std::string_view op, std::vector<std::string> inputs, std::vector<std::string> outputs,
            int64_t opset, Attributes attributes = {}) {
    FileNode node;
    node.op = op;
    node.opset = opset;
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.attributes = std::move(attributes);
    push(std::move(node));
  }
  void emit_constant(const std::string& name, Tensor value, int64_t opset) {
    auto shared = std::make_shared<const Tensor>(std::move(value));
    constants_[name] = shared;
    emit("Constant", {}, {name}, opset, {{"value", std::move(shared)}});
  }
  std::string fresh(const std::string& base) { return fmt::format("{}.{}", base, ++made_); }

  FileGraph& graph_;
  std::unordered_map<std::string, Listed> lists_;
  std::unordered_map<std::string, std::shared_ptr<const Tensor>> constants_;
  std::vector<FileNode> nodes_;  // that replace those of the graph
  int64_t made_ = 0;
  // Shared with the replacers of bodies: bodies in loops that are unrolled multiply.
  std::shared_ptr<size_t> spent_ = std::make_shared<size_t>(0);
};

}  // namespace trainyard::onnx_io
