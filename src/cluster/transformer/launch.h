// Reads the line that starts a training with other software: Megatron-LM's arguments, those of
// Hugging Face's Trainer, DeepSpeed's JSON and torchtitan's TOML files that it names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/transformer/mapping.h"

namespace trainyard::transformer {

struct Launch {
  std::string model;  // a name or a path; empty: `sizes` describe it
  Transformer sizes;
  Mapping mapping;
  std::vector<std::string> used;     // settings that said something, as they were written
  std::vector<std::string> ignored;  // settings that are not known here
};

// `read` returns the text of a file that the line names. Throws Error for a value that is not what
// its setting needs, and for a line that says nothing of how a training is spread.
Launch read_launch(std::string_view line,
                   const std::function<std::string(const std::string&)>& read);

}  // namespace trainyard::transformer
