// MODEL on the command line: the name of a built-in network, a path to an .onnx file or a run
// directory, and the flags that go with it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "models/network.h"
#include "program/args.h"

namespace trainyard::cli {

class ModelArgument {
 public:
  // MODEL, --weights, --batch, --shape, --classes, --image, --length, --width, --auxiliary. Must
  // outlive parse().
  // text() is empty if a MODEL that is not required is absent.
  void declare(Args& args, bool required = true);

  // The same without --batch: the network is always built or imported at batch 1.
  void declare_single(Args& args);

  // What MODEL says.
  const std::string& text() const { return text_; }

  // Builds or imports the network. Throws Error naming what is wrong with name, file or flags.
  Graph load() const { return load(text_); }
  // The same for another MODEL under the same flags.
  Graph load(const std::string& model) const;
  // MODEL with inputs of these shapes, unless --shape says otherwise.
  Graph load_for(const std::map<std::string, Shape>& shapes) const;

  // What MODEL and its weights say of themselves.
  onnx_io::Metadata metadata() const { return network::metadata_of(text_, request_.weights); }

  // The name of a built-in network at batch 1, and no flag that changes it.
  bool is_bare_name() const;

  std::optional<int64_t> batch() const { return request_.batch; }

 private:
  void declare_shape(Args& args);
  network::Request request(const std::string& model) const;

  std::string text_;
  network::Request request_;  // all but model and shapes
  std::vector<std::string> shapes_;
};

// NAME=1,3,224,224, as --shape takes it.
std::pair<std::string, Shape> parse_shape(const std::string& text);

}  // namespace trainyard::cli
