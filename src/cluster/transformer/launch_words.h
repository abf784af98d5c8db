// The settings of a launch line and of the files that it names, as names with values.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::transformer {

// "--micro-batch-size 4" is {"micro_batch_size", "4"}, zero_optimization: {stage: 3} of a JSON file
// {"zero_optimization.stage", "3"}; a switch has the value "true".
struct LaunchWord {
  std::string name;
  std::string value;
};

// Later ones overrule earlier ones: files come before what stands in the line.
std::vector<LaunchWord> launch_words(std::string_view line,
                                     const std::function<std::string(const std::string&)>& read);

}  // namespace trainyard::transformer
