#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/dataset.h"
#include "data/fixture.h"
#include "data/image.h"
#include "data/loader.h"
#include "data/picture_input.h"
#include "data/readable.h"
#include "data/resample.h"
#include "data/statistics.h"
#include "support/error_message.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

void write_picture(const fs::path& path, int64_t height, int64_t width, uint8_t red) {
  fs::create_directories(path.parent_path());
  Image image{.height = height, .width = width, .pixels = {}};
  for (int64_t i = 0; i < height * width; ++i)
    image.pixels.insert(image.pixels.end(), {red, 20, 30});
  write_file(path, encode_png(image));
}

// cat: 2 pictures, dog: 1; one of each for testing.
fs::path write_folder(const std::string& name) {
  fs::path folder = scratch_folder(name);
  write_picture(folder / "train/cat/b.png", 6, 9, 100);
  write_picture(folder / "train/cat/a.PNG", 5, 8, 110);
  write_picture(folder / "train/dog/c.png", 4, 4, 200);
  write_picture(folder / "val/cat/d.png", 4, 4, 120);
  write_picture(folder / "val/dog/e.png", 4, 4, 210);
  write_file(folder / "train/cat/notes.txt", "not a picture");
  return folder;
}

TEST(ImageFolder, ReadsClassesInOrderOfName) {
  const fs::path folder = write_folder("pictures");
  const auto set = open_dataset(folder.string(), Split::kTrain);
  EXPECT_EQ(set->class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(set->size(), 3);
  EXPECT_EQ(set->label(2), 1);
  EXPECT_EQ(set->shape().to_string(), "3x?x?");
  Pixels room;
  const PixelView picture = set->pixels(0, room);  // a.PNG
  EXPECT_EQ(picture.shape, (PictureShape{3, 5, 8}));
  EXPECT_EQ(*picture.row(0, 4), 110);
  EXPECT_EQ(*picture.row(2, 4), 30);
  EXPECT_EQ(open_dataset("folder:" + folder.string(), Split::kTest)->size(), 2);
}

TEST(ImageFolder, LoadsAtOneSize) {
  const fs::path folder = write_folder("pictures_loader");
  const auto set = open_dataset(folder.string(), Split::kTrain);
  EXPECT_NE(message_of([&] { Loader(*set, {.batch = 2}); }).find("differ in size"),
            std::string::npos);
  Loader loader(*set, {.batch = 3, .augmentations = "resize:4,center:4x4"});
  loader.start_epoch(0);
  const Batch* batch = loader.next();
  EXPECT_EQ(batch->images.shape(), (Shape{3, 3, 4, 4}));
  EXPECT_FLOAT_EQ(batch->images.values<float>()[0], 110.0F / 255.0F);
  Loader large(*set, {.batch = 3, .augmentations = "center:5x5"});
  large.start_epoch(0);
  const std::string message = message_of([&] { large.next(); });
  EXPECT_NE(message.find("dog/c.png"), std::string::npos) << message;
  EXPECT_NE(message.find("too small"), std::string::npos) << message;
}

TEST(ImageFolder, EmptyClassFoldersAreNamedOrLeftOut) {
  const fs::path folder = write_folder("pictures_empty");
  fs::create_directories(folder / "train/ant");
  fs::create_directories(folder / "train/eel");
  fs::create_directories(folder / "val/eel");
  const std::string message = message_of([&] { open_dataset(folder.string(), Split::kTrain); });
  EXPECT_NE(message.find("class folders ant, eel"), std::string::npos) << message;
  EXPECT_NE(message.find("skip_bad_files"), std::string::npos) << message;
  std::vector<std::string> empty;
  const auto set = open_dataset(folder.string(), Split::kTest, {&empty});
  EXPECT_EQ(set->class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(set->label(1), 1);
  ASSERT_EQ(empty.size(), 3U);
  EXPECT_NE(empty[2].find("val/eel"), std::string::npos) << empty[2];
}

TEST(ImageFolder, PlainClassFoldersHaveNoTestSplit) {
  const fs::path folder = write_folder("pictures_plain");
  EXPECT_TRUE(has_test_split(folder.string()));
  EXPECT_TRUE(has_test_split("synthetic:1x4x4"));
  const std::string plain = (folder / "train").string();
  EXPECT_FALSE(has_test_split(plain));
  EXPECT_FALSE(has_test_split("folder:" + plain));
  EXPECT_EQ(open_dataset(plain, Split::kTrain)->size(), 3);
  EXPECT_NE(message_of([&] { open_dataset(plain, Split::kTest); }).find("val_split"),
            std::string::npos);
}

TEST(ImageFolder, StatisticsListUnreadableFiles) {
  const fs::path folder = write_folder("pictures_bad");
  const std::string good = read_file(folder / "train/cat/b.png");
  write_file(folder / "train/cat/b.png", good.substr(0, good.size() / 2));
  write_file(folder / "train/dog/z.jpg", "hello");
  const Statistics all = measure_statistics(*open_dataset(folder.string(), Split::kTrain));
  EXPECT_EQ(all.samples, 2);
  EXPECT_EQ(all.class_counts, (std::vector<int64_t>{2, 2}));
  ASSERT_EQ(all.unreadable.size(), 2U);
  EXPECT_NE(all.unreadable[0].find("cat/b.png"), std::string::npos) << all.unreadable[0];
  EXPECT_NE(all.unreadable[1].find("dog/z.jpg"), std::string::npos) << all.unreadable[1];
  EXPECT_EQ(all.min_height, 4);
  EXPECT_EQ(all.max_width, 8);
  EXPECT_DOUBLE_EQ(all.mean[2], 30);
  EXPECT_DOUBLE_EQ(all.std[2], 0);
  EXPECT_NEAR(all.mean[0], (40.0 * 110 + 16.0 * 200) / 56, 1e-9);
}

TEST(ImageFolder, SaysHowManyPicturesItDoesNotRead) {
  const fs::path folder = write_folder("pictures_of_other_formats");
  EXPECT_EQ(open_dataset(folder.string(), Split::kTrain)->source().find("not read"),
            std::string::npos);
  for (const char* name : {"a.TIF", "b.webp", "notes.txt"}) {
    write_file(folder / "train/cat" / name, "x");
  }
  const auto set = open_dataset(folder.string(), Split::kTrain);
  EXPECT_NE(set->source().find("2 files of .webp or .tif are not read"), std::string::npos)
      << set->source();
}

TEST(ImageFolder, SaysWhatIsMissing) {
  const fs::path folder = write_folder("pictures_missing");
  fs::create_directories(folder / "val/dgo");
  EXPECT_NE(message_of([&] {
              open_dataset(folder.string(), Split::kTest);
            }).find("class 'dgo' is not among the 2 classes"),
            std::string::npos);
  fs::create_directories(folder / "train/empty");
  EXPECT_NE(message_of([&] { open_dataset(folder.string(), Split::kTrain); }).find("no .jpg"),
            std::string::npos);
  fs::remove_all(folder / "val");
  fs::remove_all(folder / "train/empty");
  EXPECT_NE(message_of([&] {
              open_dataset(folder.string(), Split::kTest);
            }).find("neither val nor test beside train"),
            std::string::npos);
  const fs::path flat = folder / "train";
  EXPECT_EQ(open_dataset(flat.string(), Split::kTrain)->size(), 3);
  EXPECT_NE(message_of([&] { open_dataset(flat.string(), Split::kTest); }).find("no test split"),
            std::string::npos);
}

TEST(ImageFolder, PicturesOfOneSizeNeedNoResizing) {
  const fs::path folder = scratch_folder("one_size");
  for (const char* name : {"train/a/1.png", "train/b/2.png", "val/a/3.png", "val/b/4.png"}) {
    write_picture(folder / name, 7, 5, 1);
  }
  const auto set = open_dataset("folder:" + folder.string(), Split::kTrain);
  EXPECT_EQ(set->shape(), (PictureShape{3, 7, 5}));
  EXPECT_EQ(Augmentations("normalize", *set).output(), (PictureShape{3, 7, 5}));
  write_picture(folder / "train/a/1.png", 8, 5, 1);
  Pixels room;
  EXPECT_NE(message_of([&] { set->pixels(0, room); }).find("it was changed"), std::string::npos);
}

TEST(ImageFolder, BadFilesAreSkippedAndListed) {
  const fs::path folder = write_folder("with_bad");
  write_file(folder / "train/dog/bad.png", "no picture");
  std::vector<std::string> skipped;
  const auto set = only_readable(open_dataset(folder.string(), Split::kTrain), skipped);
  EXPECT_EQ(set->size(), 3);
  EXPECT_EQ(set->label(2), 1);
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_NE(skipped[0].find("bad.png"), std::string::npos);
  Pixels room;
  for (int64_t i = 0; i < set->size(); ++i) EXPECT_GT(set->pixels(i, room).shape.height, 0);
}

TEST(PictureInput, StepsOfTrainingAreApplied) {
  Image image{.height = 4, .width = 8, .pixels = {}};
  for (int i = 0; i < 32; ++i) image.pixels.insert(image.pixels.end(), {255, 255, 255});
  const Tensor tensor = apply_steps(image, parse_picture_shape("1x28x28"), "normalize:0.5:0.25");
  EXPECT_EQ(tensor.shape(), (Shape{1, 1, 28, 28}));
  EXPECT_NEAR(tensor.values<float>()[100], 2.0F, 1e-5F);
  const Tensor cut = apply_steps(image, parse_picture_shape("3x?x?"), "resize:6x6");
  EXPECT_EQ(cut.shape(), (Shape{1, 3, 6, 6}));
  for (const char* wrong : {"", "28x28", "2x4x4", "ax4x4", "3x4x99999999"}) {
    EXPECT_THROW(parse_picture_shape(wrong), Error) << wrong;
  }
}

// A picture is resized before its colors are split; the result is that of planes.
TEST(PictureInput, ResizesPixelsAsPlanes) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{41, 67}, {9, 5}, {20, 31}}) {
    Image image{.height = height, .width = width, .pixels = {}};
    uint32_t state = 1;
    for (int64_t i = 0; i < height * width * 3; ++i) {
      state = state * 1664525 + 1013904223;
      image.pixels.push_back(static_cast<uint8_t>(state >> 24));
    }
    Pixels planes;
    to_planes(image, planes);
    for (const bool plain : {false, true}) {
      std::vector<uint8_t> expected(3 * 20 * 31);
      resample({.data = planes.row(0, 0),
                .height = height,
                .width = width,
                .stride = width,
                .planes = 3,
                .plane_stride = height * width},
               20, 31, expected.data(), plain);
      const Tensor found = apply_steps(image, parse_picture_shape("3x?x?"),
                                       plain ? "resize:20x31:plain" : "resize:20x31");
      ASSERT_EQ(found.shape(), (Shape{1, 3, 20, 31}));
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(std::lround(found.values<float>()[i] * 255), expected[i])
            << height << " x " << width << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::data
