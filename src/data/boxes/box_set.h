// Pictures in files, with boxes that were read before: what the formats of boxes have in common.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/image.h"

namespace trainyard::data {

// More boxes in one picture are a damaged file, not a picture.
inline constexpr size_t kMostBoxesInPicture = 20'000;

// A box as a file has it, to be checked.
struct RawBox {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  int64_t label = 0;
  bool difficult = false;
  std::string where;  // file, object
};

struct BoxedPicture {
  std::string path;
  PictureSize size;  // zeros: the header of the file says
  std::vector<Box> boxes;
};

// Collects pictures and checks their boxes against their size: what reaches outside is cut off,
// what is empty, turned around, not a number or wholly outside is left out; either is noted.
class BoxSetMaker {
 public:
  // Throws Error if a picture has too many boxes.
  void add(std::string path, PictureSize size, const std::vector<RawBox>& boxes);
  // Throws Error if there is no picture.
  std::unique_ptr<Dataset> finish(std::vector<std::string> class_names, std::string source);

 private:
  std::vector<BoxedPicture> pictures_;
  std::vector<std::string> problems_;
};

// By the first bytes of the file; zeros where there is none that can be read.
PictureSize picture_size_of(const std::filesystem::path& path);

// One split of a set that comes without any: every fifth sample is for the test.
bool belongs_to(int64_t index, Split split);

// The file of the split: `train` itself for training; for the test, the file beside it whose name
// has test, val or validation where `train` has "train". Empty: there is none.
std::filesystem::path split_file(const std::filesystem::path& train, Split split);

// The position of `name`. Throws Error with the nearest names, beginning with `where`.
int64_t class_index(const std::vector<std::string>& names, const std::string& name,
                    std::string_view where);

}  // namespace trainyard::data
