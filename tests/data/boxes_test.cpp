// Readers of pictures with boxes: formats, splits, and boxes that are not as they should be.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/boxes/box_set.h"
#include "data/boxes/box_statistics.h"
#include "data/boxes/coco.h"
#include "data/boxes/voc.h"
#include "data/image.h"
#include "data/loader.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::data {
namespace {

std::string picture_bytes(int64_t width, int64_t height) {
  Image image{.height = height, .width = width, .pixels = {}};
  image.pixels.assign(static_cast<size_t>(3 * width * height), 90);
  return encode_png(image);
}

std::string voc_object(const std::string& name, const std::string& box, bool difficult = false) {
  std::string text = "<object><name>" + name + "</name><difficult>" + (difficult ? "1" : "0") +
                     "</difficult><bndbox>";
  const char* tags[] = {"xmin", "ymin", "xmax", "ymax"};
  size_t at = 0;
  for (const char* tag : tags) {
    const size_t end = box.find(' ', at);
    text += fmt::format("<{}>{}</{}>", tag, box.substr(at, end - at), tag);
    at = end + 1;
  }
  return text + "</bndbox></object>";
}

std::string voc_xml(const std::string& objects) {
  return "<?xml version=\"1.0\"?><annotation><filename>any.png</filename>" + objects +
         "</annotation>";
}

// Ten pictures of 40 x 30; those for the test are numbers 4 and 9.
void write_voc(const TemporaryFolder& folder) {
  std::filesystem::create_directories(folder / "Annotations");
  std::filesystem::create_directories(folder / "JPEGImages");
  for (int i = 0; i < 10; ++i) {
    write_file(folder / fmt::format("JPEGImages/{}.png", i), picture_bytes(40, 30));
    const std::string objects =
        voc_object("dog", "1 1 20 10") + (i % 2 == 0 ? voc_object("cat", "11 6 40 30", true) : "");
    write_file(folder / fmt::format("Annotations/{}.xml", i), voc_xml(objects));
  }
}

std::unique_ptr<Dataset> open(const std::string& spec, Split split = Split::kTrain) {
  return open_dataset(spec, split);
}

std::vector<Box> boxes_of(const Dataset& set, int64_t index) {
  Target target;
  set.target(index, target);
  return target.boxes;
}

TEST(Voc, ClassesBoxesAndSplits) {
  const TemporaryFolder folder("voc");
  write_voc(folder);
  const std::string spec = "voc:" + folder.path().string();
  const auto training = open(spec);
  EXPECT_EQ(training->target_kind(), TargetKind::kBoxes);
  EXPECT_EQ(training->class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(training->size(), 8);
  EXPECT_EQ(open(spec, Split::kTest)->size(), 2);
  // From the first pixel to the last, both inside.
  EXPECT_EQ(boxes_of(*training, 0),
            (std::vector<Box>{{0, 0, 20, 10, 1}, {10, 5, 40, 30, 0, true}}));
  EXPECT_TRUE(training->problems().empty());
  EXPECT_EQ(training->shape(), (PictureShape{3, 30, 40}));
  const BoxStatistics boxes = measure_boxes(*training);
  EXPECT_EQ(boxes.boxes, 12);
  EXPECT_EQ(boxes.classes[0].difficult, 4);
  EXPECT_EQ(boxes.classes[1].pictures, 8);
  EXPECT_TRUE(names_boxes(spec));
  EXPECT_TRUE(names_boxes(folder.path().string()));
  EXPECT_FALSE(names_boxes("fashion-mnist"));
}

TEST(Voc, ListsOfTheDevelopmentKit) {
  const TemporaryFolder folder("voc_lists");
  write_voc(folder);
  std::filesystem::create_directories(folder / "ImageSets/Main");
  write_file(folder / "ImageSets/Main/trainval.txt", "0\n1 1\n2\n");
  write_file(folder / "ImageSets/Main/test.txt", "7\r\n8\r\n");
  write_file(folder / "ImageSets/Main/few.txt", "4\n");
  const std::string spec = "voc:" + folder.path().string();
  EXPECT_EQ(open(spec)->size(), 3);
  EXPECT_EQ(open(spec, Split::kTest)->size(), 2);
  EXPECT_EQ(open(spec + ":few/test")->size(), 1);
  EXPECT_EQ(open(spec + ":few/test", Split::kTest)->size(), 2);
  EXPECT_NE(message_of([&] { open(spec + ":tst"); }).find("Did you mean test"), std::string::npos);
  write_file(folder / "ImageSets/Main/few.txt", "77\n");
  EXPECT_NE(message_of([&] { open(spec + ":few"); }).find("77.xml"), std::string::npos);
}

// What is outside, empty or turned around is said with file and object, and never reaches training.
TEST(Voc, BadBoxesAreCutOrLeftOut) {
  const TemporaryFolder folder("voc_bad");
  write_voc(folder);
  write_file(folder / "Annotations/0.xml",
             voc_xml(voc_object("dog", "-4 1 20 10") + voc_object("dog", "20 1 5 10") +
                     voc_object("dog", "50 1 60 10") + voc_object("dog", "7 5 6 9") +
                     voc_object("dog", "30 20 99 99")));
  const auto set = open("voc:" + folder.path().string());
  EXPECT_EQ(boxes_of(*set, 0), (std::vector<Box>{{0, 0, 20, 10, 1}, {29, 19, 40, 30, 1}}));
  ASSERT_EQ(set->problems().size(), 5U);
  EXPECT_NE(set->problems()[1].find("object 2"), std::string::npos);
  EXPECT_NE(set->problems()[1].find("turned around"), std::string::npos);
  EXPECT_NE(set->problems()[2].find("outside"), std::string::npos);
  EXPECT_NE(set->problems()[3].find("empty"), std::string::npos);
}

TEST(Voc, WhatIsNoAnnotationIsRefused) {
  const auto read = [](const std::string& xml) {
    return message_of([&] { read_voc_annotation(xml, "a.xml"); });
  };
  EXPECT_NE(read("<annotation>").find("a.xml: no XML at byte"), std::string::npos);
  EXPECT_NE(read("").find("no XML"), std::string::npos);
  EXPECT_NE(read("<html/>").find("found <html>"), std::string::npos);
  EXPECT_NE(read(voc_xml("<object><name>a</name></object>")).find("has no <bndbox>"),
            std::string::npos);
  EXPECT_NE(read(voc_xml(voc_object("a", "1 one 3 4"))).find("<ymin>: 'one' is not a number"),
            std::string::npos);
  EXPECT_NE(read(voc_xml(voc_object("a", "1 nan 3 4"))).find("'nan'"), std::string::npos);
  // Entities stay what they are, and depth is no matter.
  const std::string bomb =
      "<!DOCTYPE a [<!ENTITY x \"xxxxxxxxxx\"><!ENTITY y \"&x;&x;&x;&x;&x;&x;&x;&x;&x;&x;\">]>";
  EXPECT_EQ(read_voc_annotation(bomb + voc_xml(voc_object("&y;", "1 1 3 4")), "b").objects[0].name,
            "&y;");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<d>";
  EXPECT_NE(read(deep).find("no XML"), std::string::npos);
}

constexpr const char* kCoco = R"({"info": {}, "categories": [{"id": 7, "name": "dog"},
  {"id": 3, "name": "cat"}], "images": [{"id": 11, "file_name": "a.png", "width": 40,
  "height": 30}, {"id": 12, "file_name": "b.png", "width": 40, "height": 30}],
  "annotations": [{"id": 1, "image_id": 12, "category_id": 7, "bbox": [1, 2, 10, 5], "iscrowd": 0},
  {"id": 2, "image_id": 12, "category_id": 3, "bbox": [0, 0, 4, 4], "iscrowd": 1, "area": 9}]})";

TEST(Coco, ReadsAnnotations) {
  const CocoAnnotations all = read_coco(kCoco, "c.json");
  EXPECT_EQ(all.class_names, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(all.objects.size(), 2U);
  EXPECT_EQ(all.objects[0].picture, 1U);
  EXPECT_EQ(all.objects[0].category, 1U);
  EXPECT_EQ(all.objects[0].area, 50);
  EXPECT_TRUE(all.objects[1].crowd);
  const auto replaced = [](const std::string& from, const std::string& to) {
    std::string text = kCoco;
    text.replace(text.find(from), from.size(), to);
    return message_of([&] { read_coco(text, "c.json"); });
  };
  EXPECT_NE(replaced("\"image_id\": 12", "\"image_id\": 5").find("image 5, which is not listed"),
            std::string::npos);
  EXPECT_NE(replaced("\"category_id\": 7", "\"category_id\": 8").find("category 8"),
            std::string::npos);
  EXPECT_NE(replaced("\"image_id\": 12, ", "").find("no image_id"), std::string::npos);
  EXPECT_NE(replaced("[1, 2, 10, 5]", "[1, 2, 10]").find("four numbers"), std::string::npos);
  EXPECT_NE(replaced("\"id\": 12", "\"id\": 11").find("listed twice"), std::string::npos);
}

TEST(Coco, OpensASet) {
  const TemporaryFolder folder("coco");
  write_file(folder / "train.json", kCoco);
  for (const char* name : {"a.png", "b.png"}) write_file(folder / name, picture_bytes(40, 30));
  const std::string spec =
      "coco:" + (folder / "train.json").string() + ":" + folder.path().string();
  const auto set = open(spec);
  EXPECT_EQ(set->size(), 2);
  EXPECT_EQ(boxes_of(*set, 1), (std::vector<Box>{{1, 2, 11, 7, 1}, {0, 0, 4, 4, 0, true}}));
  // A second file is the test.
  write_file(folder / "val.json", kCoco);
  EXPECT_EQ(open(spec, Split::kTest)->size(), 2);
  std::filesystem::remove(folder / "b.png");
  EXPECT_NE(message_of([&] { open(spec); }).find("there is no picture b.png"), std::string::npos);
}

TEST(BoxCsv, ReadsLinesAndOpenImages) {
  const TemporaryFolder folder("csv");
  for (const char* name : {"a.jpg", "b.jpg"}) write_file(folder / name, picture_bytes(40, 20));
  write_file(folder / "train.csv",
             "filename,class,xmin,ymin,xmax,ymax\na.jpg,dog,1,2,30,20\na.jpg,cat,1,2,3,4\n"
             "b.jpg,dog,0,0,5,5\n");
  write_file(folder / "test.csv", "filename,class,xmin,ymin,xmax,ymax\nb.jpg,cow,0,0,5,5\n");
  const std::string images = ":" + folder.path().string();
  const std::string spec = "csv:" + (folder / "train.csv").string() + images;
  const auto set = open(spec);
  EXPECT_EQ(set->size(), 2);
  EXPECT_EQ(boxes_of(*set, 0), (std::vector<Box>{{1, 2, 30, 20, 1}, {1, 2, 3, 4, 0}}));
  EXPECT_NE(message_of([&] { open(spec, Split::kTest); }).find("no class 'cow' among cat, dog"),
            std::string::npos);
  write_file(folder / "boxes-train.csv",
             "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsGroupOf\n"
             "a,x,/m/1,1,0.25,0.5,0,1,0\nb,x,/m/2,1,0,1,0,1,1\n");
  write_file(folder / "class-descriptions-boxable.csv", "/m/1,Handgun\n/m/2,Shotgun\n");
  const std::string open_images = "openimages:" + (folder / "boxes-train.csv").string() + images;
  const auto both = open(open_images);
  EXPECT_EQ(both->class_names(), (std::vector<std::string>{"Handgun", "Shotgun"}));
  EXPECT_EQ(boxes_of(*both, 0), (std::vector<Box>{{10, 0, 20, 20, 0}}));
  EXPECT_TRUE(boxes_of(*both, 1)[0].difficult);
  EXPECT_EQ(open(open_images + ":Shotgun")->size(), 1);
  EXPECT_NE(message_of([&] { open(open_images + ":Handgum"); }).find("Did you mean Handgun"),
            std::string::npos);
}

// As open_images_downloader.py of pytorch-ssd leaves it: lists beside a folder for each split.
TEST(BoxCsv, ReadsADownloadedFolderOfOpenImages) {
  const TemporaryFolder folder("downloaded");
  const char* columns = "ImageID,ClassName,XMin,XMax,YMin,YMax\n";
  for (const std::string split : {"train", "test"}) {
    std::filesystem::create_directories(folder / split);
    write_file(folder / split / (split + "1.jpg"), picture_bytes(40, 20));
    write_file(folder / ("sub-" + split + "-annotations-bbox.csv"),
               columns + split + "1,Handgun,0,0.5,0,1\n");
  }
  const std::string root = folder.path().string();
  const std::string list = "openimages:" + (folder / "sub-train-annotations-bbox.csv").string();
  // The folder alone, the list with the folder of all splits, and with that of one.
  for (const std::string& spec :
       {"openimages:" + root, "openimages:" + root + ":Handgun", list + ":" + root,
        list + ":" + root + "/train", list + ":" + root + "/train/"}) {
    EXPECT_EQ(open(spec)->size(), 1) << spec;
    EXPECT_EQ(boxes_of(*open(spec, Split::kTest), 0), (std::vector<Box>{{0, 0, 20, 20, 0}}))
        << spec;
  }
  std::filesystem::remove(folder / "test/test1.jpg");
  EXPECT_NE(message_of([&] {
              open(list + ":" + root + "/train", Split::kTest);
            }).find("there is no picture test1.jpg in"),
            std::string::npos);
}

// Boxes hold what is drawn, and splits differ.
TEST(Shapes, AreInTheirBoxes) {
  const auto set = open("shapes:64,size=20");
  EXPECT_EQ(set->class_names(), (std::vector<std::string>{"disc", "square", "triangle"}));
  const auto test = open("shapes:64,size=20", Split::kTest);
  EXPECT_EQ(test->size(), 4);
  EXPECT_NE(boxes_of(*set, 0), boxes_of(*test, 0));
  for (int64_t i = 0; i < set->size(); ++i) {
    const std::vector<Box> boxes = boxes_of(*set, i);
    ASSERT_FALSE(boxes.empty());
    for (const Box& box : boxes) {
      EXPECT_TRUE(0 <= box.left && box.right <= 64 && 0 <= box.top && box.bottom <= 64);
    }
  }
  EXPECT_EQ(open("shapes:64,classes=2")->class_names(),
            (std::vector<std::string>{"disc", "square"}));
  EXPECT_NE(message_of([] { open("shapes:64,classes=4"); }).find("1 to 3"), std::string::npos);
  EXPECT_NE(message_of([] { open("shapes:7"); }).find("16 to 2048"), std::string::npos);
}

// The ring of a disc is there and its middle is ground.
TEST(Shapes, CanBeOutlined) {
  const auto filled = open("shapes:64,size=4,classes=1");
  const auto outlined = open("shapes:64,size=4,classes=1,outlined=1");
  ASSERT_EQ(boxes_of(*filled, 0), boxes_of(*outlined, 0));
  const Box box = boxes_of(*filled, 0)[0];
  const auto middle = static_cast<int64_t>((box.top + box.bottom) / 2);
  Pixels full;
  Pixels hollow;
  filled->pixels(0, full);
  outlined->pixels(0, hollow);
  const auto center = static_cast<size_t>((box.left + box.right) / 2);
  const auto rim = static_cast<size_t>(box.left) + 1;
  EXPECT_EQ(full.row(0, middle)[rim], hollow.row(0, middle)[rim]);
  EXPECT_EQ(full.row(0, middle)[rim], full.row(0, middle)[center]);
  EXPECT_NE(full.row(0, middle)[center], hollow.row(0, middle)[center]);
}

TEST(BoxSet, TooManyBoxesAreNoPicture) {
  BoxSetMaker maker;
  EXPECT_THROW(maker.add("x.jpg", {10, 10}, std::vector<RawBox>(kMostBoxesInPicture + 1)), Error);
}

// SSD's steps: boxes stay inside, at least one is kept, and another thread count changes nothing.
TEST(BoxSteps, KeepBoxesInside) {
  const TemporaryFolder folder("voc_steps");
  write_voc(folder);
  const auto set = open("voc:" + folder.path().string());
  for (const int64_t workers : {0, 2}) {
    Loader loader(*set, {.batch = 4, .workers = workers, .augmentations = "ssd:64"});
    EXPECT_EQ(loader.augmentations().evaluation_text().substr(0, 12), "resize:64x64");
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      loader.start_epoch(epoch);
      while (const Batch* batch = loader.next()) {
        for (const std::vector<Box>& boxes : batch->boxes) {
          EXPECT_FALSE(boxes.empty());
          for (const Box& box : boxes) {
            EXPECT_TRUE(0 <= box.left && box.left < box.right && box.right <= 64);
            EXPECT_TRUE(0 <= box.top && box.top < box.bottom && box.bottom <= 64);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::data
