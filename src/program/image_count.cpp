#include "program/image_count.h"

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard::cli {

double parse_images(const std::string& text, const std::string& flag) {
  if (text == "imagenet") return 1281167;
  if (text == "cifar10" || text == "cifar100") return 50000;
  if (text == "mnist" || text == "fashion-mnist") return 60000;
  const auto images = parse_number<int64_t>(text);
  const std::vector<std::string> names = {"imagenet", "cifar10", "cifar100", "mnist",
                                          "fashion-mnist"};
  TY_REQUIRE(images && *images > 0,
             "{} '{}' is neither a known dataset nor a number of images.{} Known: {}", flag, text,
             did_you_mean(text, names), join(names, ", "));
  return static_cast<double>(*images);
}

}  // namespace trainyard::cli
