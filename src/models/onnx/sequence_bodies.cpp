// Nodes with bodies that make or carry sequences: unrolled where they repeat, widened where they
// branch.
#include <algorithm>

#include "models/onnx/functions.h"
#include "models/onnx/sequence_replacer.h"

namespace trainyard::onnx_io {

std::vector<std::string> SequenceReplacer::inline_body(const FileGraph& body,
                                                       const std::vector<std::string>& given,
                                                       const FileNode& from) {
  TY_REQUIRE(body.inputs.size() == given.size(), "its body has {} inputs, expected {}",
             body.inputs.size(), given.size());
  // A body without nodes is work too.
  spend(1 + body.initializers.size());
  const FileGraph renamed = with_prefix(body, fresh(from.name.empty() ? from.op : from.name) + "/");
  for (const FileTensor& tensor : renamed.initializers) {
    graph_.initializers.push_back(tensor);
    constants_[tensor.name] = tensor.data;
  }
  // An input of the body becomes another name of what is given, which may be a list.
  for (size_t i = 0; i < given.size(); ++i) {
    name_output(given[i], renamed.inputs[i].name, from.opset);
  }
  for (const FileNode& node : renamed.nodes) add(node);
  std::vector<std::string> outputs;
  for (const FileOutput& output : renamed.outputs) outputs.push_back(output.name);
  return outputs;
}

void SequenceReplacer::map(const FileNode& node) {
  const auto body = node.graphs.find("body");
  TY_REQUIRE(body != node.graphs.end(), "attribute 'body' is missing");
  const size_t count = sequence(input(node, 0)).items.size();
  std::vector<Listed> results(node.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::string> given;
    for (const std::string& name : node.inputs) {
      TY_REQUIRE(!is_list(name) || sequence(name).items.size() == count,
                 "its sequences have {} and {} elements", count, lists_[name].items.size());
      given.push_back(is_list(name) ? lists_[name].items[i] : name);
    }
    const std::vector<std::string> outputs = inline_body(*body->second, given, node);
    TY_REQUIRE(outputs.size() >= results.size(), "its body gives {} outputs, expected {}",
               outputs.size(), results.size());
    for (size_t j = 0; j < results.size(); ++j) results[j].items.push_back(outputs[j]);
  }
  for (size_t j = 0; j < results.size(); ++j) lists_[node.outputs[j]] = std::move(results[j]);
}

// Bodies see the names around them, hence the copies; what a body makes stays inside.
std::shared_ptr<const FileGraph> SequenceReplacer::rewrite_body(const FileGraph& body,
                                                                std::map<size_t, Listed>& outputs) {
  auto copy = std::make_shared<FileGraph>(body);
  SequenceReplacer inner(*copy);
  inner.lists_ = lists_;
  inner.constants_ = constants_;
  inner.spent_ = spent_;
  inner.rewrite();
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    const std::string& name = body.outputs[i].name;
    if (inner.is_list(name)) outputs[i] = inner.lists_[name];
  }
  return copy;
}

// The rewritten branches give the elements of a list as outputs of their own (see rewrite), so the
// node has as many outputs more; both branches must agree on their number.
void SequenceReplacer::add_if(const FileNode& node) {
  FileNode copy = node;
  std::vector<std::map<size_t, Listed>> lists;
  for (auto& [name, body] : copy.graphs) body = rewrite_body(*body, lists.emplace_back());
  TY_REQUIRE(lists.size() == 2, "it has {} branches, expected 2", lists.size());
  std::vector<std::string> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool listed = lists[0].contains(i);
    TY_REQUIRE(listed == lists[1].contains(i), "only one of its branches gives a sequence");
    if (!listed) {
      outputs.push_back(node.outputs[i]);
      continue;
    }
    const Listed& yes = lists[0][i];
    TY_REQUIRE(yes.present == lists[1][i].present && yes.items.size() == lists[1][i].items.size(),
               "its branches give {} and {} elements: other lengths are not supported",
               yes.items.size(), lists[1][i].items.size());
    Listed result{{}, yes.present, yes.is_tensor};
    for (size_t j = 0; j < yes.items.size(); ++j) {
      result.items.push_back(fmt::format("{}[{}]", node.outputs[i], j));
      outputs.push_back(result.items.back());
    }
    lists_[node.outputs[i]] = std::move(result);
  }
  copy.outputs = std::move(outputs);
  push(std::move(copy));
}

// A loop that carries tensors only stays a loop, whatever its body does inside.
void SequenceReplacer::add_loop(const FileNode& node) {
  const auto body = node.graphs.find("body");
  TY_REQUIRE(body != node.graphs.end(), "attribute 'body' is missing");
  const bool carries = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](const std::string& name) { return is_list(name); });
  return carries ? unroll(node, *body->second) : add_plain(node);
}

// As many copies of the body as there are rounds.
void SequenceReplacer::unroll(const FileNode& node, const FileGraph& body) {
  TY_REQUIRE(node.inputs.size() >= 2, "it has {} inputs, expected at least 2", node.inputs.size());
  const int64_t rounds = known(input(node, 0), "its number of rounds");
  constexpr int64_t kMostRounds = 1000;
  TY_REQUIRE(rounds <= kMostRounds, "its {} rounds carry a sequence; up to {} are unrolled", rounds,
             kMostRounds);
  if (!node.inputs[1].empty()) {
    TY_REQUIRE(known(node.inputs[1], "its condition") != 0, "it runs no round");
  }
  std::vector<std::string> carried(node.inputs.begin() + 2, node.inputs.end());
  const size_t states = carried.size();
  TY_REQUIRE(node.outputs.size() <= states,
             "results of each round beside sequences are not supported");
  // The condition of each round must be known and hold: all rounds are written out, none may be
  // skipped.
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<std::string> given = {fresh(node.op + ".round"), fresh(node.op + ".condition")};
    emit_constant(given[0], Tensor::scalar<int64_t>(round), node.opset);
    emit_constant(given[1], Tensor::scalar<bool>(true), node.opset);
    given.insert(given.end(), carried.begin(), carried.end());
    const std::vector<std::string> outputs = inline_body(body, given, node);
    TY_REQUIRE(outputs.size() == states + 1, "its body gives {} outputs, expected {}",
               outputs.size(), states + 1);
    TY_REQUIRE(known(outputs[0], "its condition") != 0, "it stops before its last round");
    carried.assign(outputs.begin() + 1, outputs.end());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) name_output(carried[i], node.outputs[i], node.opset);
  }
}

}  // namespace trainyard::onnx_io
