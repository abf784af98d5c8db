#include "data/dataset.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/fixture.h"
#include "support/error_message.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::string& spec, Split split = Split::kTrain) {
  return message_of([&] { open_dataset(spec, split); });
}

void expect_refusal(const std::string& spec, const std::vector<std::string>& parts) {
  const std::string message = refusal(spec);
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' in: " << message;
  }
}

TEST(Idx, ReadsPicturesAndLabels) {
  const fs::path folder = write_idx_folder("idx", 12);
  const auto set = open_dataset(folder.string(), Split::kTrain);
  EXPECT_EQ(set->size(), 12);
  EXPECT_EQ(set->shape(), (PictureShape{1, 2, 3}));
  EXPECT_EQ(set->num_classes(), 10);
  EXPECT_EQ(set->label(11), 1);
  Pixels room;
  const PixelView picture = set->pixels(3, room);
  EXPECT_EQ(*picture.row(0, 0), 30);
  EXPECT_EQ(picture.row(0, 1)[2], 35);
  EXPECT_EQ(open_dataset("mnist:" + folder.string(), Split::kTest)->size(), 1);
}

TEST(Idx, ReadsCompressedFiles) {
  const fs::path folder = write_idx_folder("idx_gz", 5);
  for (const std::string kind : {"images-idx3", "labels-idx1"}) {
    const fs::path plain = folder / ("train-" + kind + "-ubyte");
    write_file(plain.string() + ".gz", gzip_bytes(read_file(plain)));
    fs::remove(plain);
  }
  const auto set = open_dataset(folder.string(), Split::kTrain);
  Pixels room;
  EXPECT_EQ(*set->pixels(4, room).row(0, 0), 40);
}

TEST(Idx, BadFilesAreNamedWithTheByte) {
  const fs::path folder = write_idx_folder("idx_bad", 12);
  const fs::path images = folder / "train-images-idx3-ubyte";
  const fs::path labels = folder / "train-labels-idx1-ubyte";
  const std::string good_images = read_file(images);
  const std::string good_labels = read_file(labels);

  write_file(images, good_images.substr(0, 40));
  expect_refusal(folder.string(), {images.string(), "72 bytes", "found 24", "cut short"});
  write_file(images, good_images.substr(0, 10));
  expect_refusal(folder.string(), {images.string(), "10 bytes", "16-byte header"});
  write_file(images, good_images + "x");
  expect_refusal(folder.string(), {images.string(), "72 bytes", "found 73"});
  write_file(images, good_labels);
  expect_refusal(folder.string(), {images.string(), "byte 0", "expected 00 00 08 03"});
  write_file(images, idx_bytes({1 << 30, 60000, 60000}, {}));
  expect_refusal(folder.string(), {images.string(), "1 TiB"});
  write_file(images, good_images);

  write_file(labels, idx_bytes({11}, std::vector<uint8_t>(11)));
  expect_refusal(folder.string(), {labels.string(), "11 labels", "12 images"});
  std::string wrong = good_labels;
  wrong[8 + 7] = 17;
  write_file(labels, wrong);
  expect_refusal(folder.string(), {labels.string(), "byte 15", "label 17", "0 to 9"});
  EXPECT_EQ(open_dataset("mnist:" + folder.string() + ",classes=18", Split::kTrain)->num_classes(),
            18);
  fs::remove(labels);
  expect_refusal(folder.string(), {"there is no train-labels-idx1-ubyte"});
}

TEST(Idx, BadCompressionIsNoticed) {
  const fs::path folder = write_idx_folder("idx_bad_gz", 200);
  const fs::path plain = folder / "train-images-idx3-ubyte";
  const std::string packed = gzip_bytes(read_file(plain));
  fs::remove(plain);
  const std::string file = plain.string() + ".gz";
  write_file(file, packed.substr(0, packed.size() / 2));
  expect_refusal(folder.string(), {file, "cut short at byte"});
  std::string damaged = packed;
  damaged[packed.size() - 6] ^= 1;  // the checksum
  write_file(file, damaged);
  expect_refusal(folder.string(), {file, "damaged"});
  write_file(file, packed + "more");
  expect_refusal(folder.string(), {file, "4 bytes follow"});
}

TEST(Idx, ReadsDebiansFashionMnist) {
  const auto train = open_dataset("fashion-mnist", Split::kTrain);
  EXPECT_EQ(train->size(), 60000);
  EXPECT_EQ(train->shape(), (PictureShape{1, 28, 28}));
  EXPECT_EQ(train->class_names()[static_cast<size_t>(train->label(0))], "ankle boot");
  EXPECT_EQ(open_dataset("fashion-mnist", Split::kTest)->size(), 10000);
}

// Two label bytes and 3072 pixels, all `value`.
std::string cifar_record(std::vector<uint8_t> labels, uint8_t value) {
  std::string record(labels.begin(), labels.end());
  return record + std::string(3072, static_cast<char>(value));
}

fs::path write_cifar10(const std::string& name) {
  fs::path folder = scratch_folder(name);
  for (int i = 1; i <= 5; ++i) {
    write_file(folder / fmt::format("data_batch_{}.bin", i),
               cifar_record({static_cast<uint8_t>(i)}, static_cast<uint8_t>(i * 10)) +
                   cifar_record({9}, 1));
  }
  write_file(folder / "test_batch.bin", cifar_record({0}, 7));
  return folder;
}

TEST(Cifar, ReadsTheTenClassesInFiveFiles) {
  const fs::path folder = write_cifar10("cifar10");
  const auto set = open_dataset(folder.string(), Split::kTrain);
  EXPECT_EQ(set->size(), 10);
  EXPECT_EQ(set->label(4), 3);
  EXPECT_EQ(set->class_names()[3], "cat");
  Pixels room;
  EXPECT_EQ(set->pixels(4, room).row(2, 31)[31], 30);
  EXPECT_EQ(open_dataset("cifar10:" + folder.string(), Split::kTest)->label(0), 0);
}

TEST(Cifar, ReadsFineLabelsOfTheHundredClasses) {
  const fs::path folder = scratch_folder("cifar100");
  write_file(folder / "train.bin", cifar_record({19, 99}, 5));
  EXPECT_EQ(open_dataset(folder.string(), Split::kTrain)->label(0), 99);
  write_file(folder / "fine_label_names.txt", "apple\nbaby\n");
  expect_refusal(folder.string(), {"fine_label_names.txt: 2 class names, expected 100"});
}

TEST(Cifar, BadFilesAreNamedWithTheByte) {
  const fs::path folder = write_cifar10("cifar_bad");
  const fs::path file = folder / "data_batch_3.bin";
  write_file(file, cifar_record({1}, 0) + "abc");
  expect_refusal(folder.string(), {file.string(), "3076 bytes", "record 1 at byte 3073"});
  write_file(file, cifar_record({1}, 0) + cifar_record({10}, 0));
  expect_refusal(folder.string(), {file.string(), "byte 3073", "label 10", "0 to 9"});
  write_file(file, "");
  expect_refusal(folder.string(), {file.string(), "0 bytes"});
  fs::remove(file);
  expect_refusal(folder.string(), {file.string(), "cannot be opened"});
}

TEST(Synthetic, IsTheSameEachTimeAndDiffersBetweenSplits) {
  const std::string spec = "synthetic:2x5x7,classes=3,size=100,seed=4";
  const auto first = open_dataset(spec, Split::kTrain);
  const auto again = open_dataset(spec, Split::kTrain);
  const auto test = open_dataset(spec, Split::kTest);
  EXPECT_EQ(first->size(), 100);
  EXPECT_EQ(test->size(), 20);
  EXPECT_EQ(first->shape(), (PictureShape{2, 5, 7}));
  std::set<int64_t> labels;
  Pixels a;
  Pixels b;
  for (int64_t i = 0; i < 100; ++i) {
    labels.insert(first->label(i));
    EXPECT_EQ(first->label(i), again->label(i));
    first->pixels(i, a);
    again->pixels(i, b);
    EXPECT_EQ(a.bytes, b.bytes);
  }
  EXPECT_EQ(labels, (std::set<int64_t>{0, 1, 2}));
  first->pixels(0, a);
  test->pixels(0, b);
  EXPECT_NE(a.bytes, b.bytes);
}

// The nearest class mean of the training split must do far better than chance on the test split.
TEST(Synthetic, CanBeLearned) {
  const std::string spec = "synthetic:3x16x16,classes=10,size=2000";
  const auto train = open_dataset(spec, Split::kTrain);
  const auto test = open_dataset(spec, Split::kTest);
  const auto elements = static_cast<size_t>(train->shape().elements());
  std::vector<std::vector<double>> means(10, std::vector<double>(elements));
  std::vector<double> counts(10);
  Pixels room;
  for (int64_t i = 0; i < train->size(); ++i) {
    const PixelView picture = train->pixels(i, room);
    const auto label = static_cast<size_t>(train->label(i));
    ++counts[label];
    for (size_t p = 0; p < elements; ++p) means[label][p] += picture.data[p];
  }
  int64_t right = 0;
  for (int64_t i = 0; i < test->size(); ++i) {
    const PixelView picture = test->pixels(i, room);
    double best = 1e30;
    int64_t guess = -1;
    for (size_t k = 0; k < means.size(); ++k) {
      double distance = 0;
      for (size_t p = 0; p < elements; ++p) {
        const double d = means[k][p] / counts[k] - picture.data[p];
        distance += d * d;
      }
      if (distance < best) {
        best = distance;
        guess = static_cast<int64_t>(k);
      }
    }
    if (guess == test->label(i)) ++right;
  }
  EXPECT_GT(right, test->size() * 8 / 10);
}

TEST(OpenDataset, SaysWhatIsWrongWithAName) {
  expect_refusal("fashon-mnist", {"neither a folder nor one of", "Did you mean fashion-mnist"});
  const std::filesystem::path table = std::filesystem::path(testing::TempDir()) / "houses.csv";
  write_file(table, "a,b\n1,2\n");
  expect_refusal(table.string(), {"say csv:" + table.string() + ",target=COLUMN"});
  expect_refusal("mnist", {"say where it is, as mnist:DIR"});
  expect_refusal("mnist:/nowhere", {"/nowhere is not a folder"});
  expect_refusal("synthetic:3x32", {"'3x32' is not CxHxW"});
  expect_refusal("synthetic:0x3x3", {"'0' is not a whole number from 1"});
  expect_refusal("synthetic,clases=3", {"no option 'clases'", "Did you mean classes"});
  expect_refusal("synthetic,size=many", {"size: 'many' is not a whole number"});
  expect_refusal(scratch_folder("nothing").string(), {"neither IDX files"});
}

}  // namespace
}  // namespace trainyard::data
