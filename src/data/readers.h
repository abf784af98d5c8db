// The formats behind open_dataset(), each in its own file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainyard::data {

// "0", "1", ...
std::vector<std::string> numbered_classes(int64_t count);

// A folder with MNIST's four files, each compressed or not. A label outside the classes is an
// Error.
std::unique_ptr<Dataset> open_idx(const std::filesystem::path& folder, Split split,
                                  std::vector<std::string> class_names);
bool is_idx_folder(const std::filesystem::path& folder);

// A folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin, or with train.bin and
// test.bin (fine labels). Names come from batches.meta.txt or fine_label_names.txt if there.
std::unique_ptr<Dataset> open_cifar10(const std::filesystem::path& folder, Split split);
std::unique_ptr<Dataset> open_cifar100(const std::filesystem::path& folder, Split split);
bool is_cifar10_folder(const std::filesystem::path& folder);
bool is_cifar100_folder(const std::filesystem::path& folder);

// DIR/train/CLASS/*.jpg and DIR/val (or test)/CLASS/*.jpg, or DIR/CLASS/*.jpg for training alone;
// .jpeg and .png too. Always three channels, and sizes as they come.
std::unique_ptr<Dataset> open_image_folder(const std::filesystem::path& folder, Split split,
                                           const OpenOptions& options = {});
bool is_image_folder(const std::filesystem::path& folder);

// Pictures with boxes; see data/boxes/ for what each format looks like and how splits are found.
std::unique_ptr<Dataset> open_voc(const std::filesystem::path& folder, const std::string& lists,
                                  Split split);
bool is_voc_folder(const std::filesystem::path& folder);
std::unique_ptr<Dataset> open_coco(const std::filesystem::path& file,
                                   const std::filesystem::path& images, Split split);
std::unique_ptr<Dataset> open_box_csv(const std::filesystem::path& file,
                                      const std::filesystem::path& images, Split split);
// `classes`: names separated by commas; empty: all there are.
std::unique_ptr<Dataset> open_openimages(const std::filesystem::path& file,
                                         const std::filesystem::path& images,
                                         const std::string& classes, Split split);

struct ShapesOptions {
  int64_t side = 128;
  int64_t size = 1000;  // of the training split; the test split has a fifth
  uint64_t seed = 1;
  int64_t classes = 3;    // the first of discs, squares and triangles
  bool outlined = false;  // not filled
};

// Discs, squares and triangles with their boxes. Made on demand.
std::unique_ptr<Dataset> make_shapes(const ShapesOptions& options, Split split);

struct SyntheticOptions {
  PictureShape shape = {3, 32, 32};
  int64_t classes = 10;
  int64_t size = 50000;  // of the training split; the test split has a fifth
  uint64_t seed = 1;
};

// Each class is a smooth random picture; a sample is its class under heavy noise. Made on demand.
std::unique_ptr<Dataset> make_synthetic(const SyntheticOptions& options, Split split);

}  // namespace trainyard::data
