// A network that is run on a data set: MODEL, the data, and the steps from picture to input.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"
#include "ir/graph.h"
#include "models/onnx/metadata.h"
#include "program/args.h"

namespace trainyard::cli {

struct JudgedNetwork {
  std::string model = {};
  std::string weights = {};
  std::string data = {};
  std::string augment = {};
  int64_t batch = 100;
  int64_t classes = 0;
  int64_t image = 0;
  double width = 1.0;
  std::vector<std::string> shapes = {};  // of inputs of a file, as --shape takes them
  // No flags: as the run was trained, if the data is the run's.
  bool skip_bad_files = false;
  double val_split = 0;
  int64_t data_seed = 1;
  int64_t length = 0;  // of rows of tokens
  std::string loss = {};
  double delta = 1;  // of losses of numbers

  // MODEL, --weights, --data, --augment, --batch, --classes, --image and --width. Must outlive
  // parse().
  void declare(Args& args, const std::string& data_help);
  // Without --data: takes what a run was trained on, from the config.yaml beside its model. Returns
  // whether it did. Throws Error naming the line of a damaged file.
  bool take_data_of_run();

  // A part of the data: what a run was trained or tested on, if the data is the run's.
  std::unique_ptr<data::Dataset> open(data::Split split) const;

  // Of MODEL; empty for a network of the zoo.
  onnx_io::Metadata metadata() const;
  // Those asked for, those the network was trained with, or a normalization by the training set;
  // without what is random.
  std::string steps(const onnx_io::Metadata& metadata, const data::Dataset& set) const;
  // With `batch` in place of the first dimensions.
  std::map<std::string, Shape> given_shapes() const;
  Graph load(const std::string& steps, const data::Dataset& set) const;
  // Throws Error unless the network takes batches of such pictures and nothing else.
  void require_fit(const Graph& graph, const data::Augmentations& pictures) const;
};

}  // namespace trainyard::cli
