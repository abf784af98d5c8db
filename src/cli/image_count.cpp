#include "cli/image_count.h"

#include <charconv>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::cli {

double parse_images(const std::string& text, const std::string& flag) {
  if (text == "imagenet") return 1281167;
  if (text == "cifar10" || text == "cifar100") return 50000;
  if (text == "mnist" || text == "fashion-mnist") return 60000;
  int64_t images = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, images);
  const std::vector<std::string> names = {"imagenet", "cifar10", "cifar100", "mnist",
                                          "fashion-mnist"};
  TY_REQUIRE(result.ec == std::errc() && result.ptr == end && images > 0,
             "{} '{}' is neither a known dataset nor a number of images.{} Known: {}", flag, text,
             did_you_mean(text, names), join(names, ", "));
  return static_cast<double>(images);
}

}  // namespace trainyard::cli
