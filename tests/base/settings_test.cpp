#include "base/settings.h"

#include <limits>

#include <gtest/gtest.h>

#include "support/error_message.h"

namespace trainyard {
namespace {

struct Options {
  std::string model = "1080";
  int64_t epochs = 30;
  double lr = 0.1;
  bool flip = true;

  Settings settings() {
    Settings list;
    list.add("model", &model, "what is trained");
    list.add("epochs", &epochs, "passes over the data");
    list.add("lr", &lr, "learning rate");
    list.add("flip", &flip, "mirror images at random");
    return list;
  }
};

TEST(Settings, ConfigRepeatsEveryValue) {
  Options from;
  from.model = "a \"b\" # c: true";
  from.epochs = std::numeric_limits<int64_t>::min();
  from.lr = 0.1 + 0.2;
  from.flip = false;
  Options to;
  to.settings().read_yaml(from.settings().to_yaml(), "config.yaml");
  EXPECT_EQ(to.model, from.model);
  EXPECT_EQ(to.epochs, from.epochs);
  EXPECT_EQ(to.lr, from.lr);
  EXPECT_EQ(to.flip, from.flip);
  EXPECT_EQ(to.settings().hash(), from.settings().hash());
  EXPECT_NE(to.settings().hash(), Options().settings().hash());

  from.lr = std::numeric_limits<double>::infinity();
  to.settings().read_yaml(from.settings().to_yaml(), "config.yaml");
  EXPECT_EQ(to.lr, from.lr);
}

TEST(Settings, ReadsPartOfThemAndLetsFlagsWin) {
  Options options;
  options.settings().read_yaml("lr: 1\nepochs: 5\nmodel: resnet18\n", "mine.yaml", {"epochs"});
  EXPECT_EQ(options.lr, 1.0);
  EXPECT_EQ(options.epochs, 30);
  EXPECT_EQ(options.model, "resnet18");
  EXPECT_TRUE(options.flip);
}

TEST(Settings, GivenOnesBecomeArguments) {
  Options options;
  options.model = "a b";
  options.lr = 0.1 + 0.2;
  using Words = std::vector<std::string>;
  EXPECT_EQ(options.settings().arguments({"lr", "model", "flip", "other"}),
            (Words{"--model", "a b", "--lr", "0.30000000000000004", "--flip", "on"}));
  options.flip = false;
  EXPECT_EQ(options.settings().arguments({"flip"}), (Words{"--flip", "off"}));
  EXPECT_EQ(flag_of_setting("weight_decay"), "weight-decay");
  EXPECT_EQ(setting_of_flag("weight-decay"), "weight_decay");
}

TEST(Settings, SaysWhatIsWrongAndWhere) {
  Options options;
  const auto has = [&](std::string_view text, std::string_view part) {
    const std::string message =
        message_of([&] { options.settings().read_yaml(text, "mine.yaml"); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has("lr: 1\nepoch: 5\n", "mine.yaml:2: field 'epoch': no such field. Did you mean epochs?");
  has("epochs: 0.5\n", "mine.yaml:1: field 'epochs': expected a whole number, found 0.5");
  has("lr: fast\n", "expected a number");
  has("flip: 1\n", "expected true or false");
  has("- lr\n", "mine.yaml:1: expected a mapping");
}

struct Described {
  int64_t batch = 8;
  std::optional<double> drop = {};
  std::vector<int64_t> sizes = {1, 2};
  std::vector<std::string> layers = {};
  double rate = 0;
  std::string form = "qdq";

  Settings settings() {
    Settings list;
    list.group("Batching");
    list.add("batch", &batch, "rows", between(1, 64));
    list.add("sizes", &sizes, "sizes of batches", between(1, 64));
    list.group("Others");
    list.add("drop", &drop, "points", above(0, 100));
    list.add("layers", &layers, "names");
    list.add("rate", &rate, "per second", Range{.least = 0.5, .or_else = 0, .note = "0: any"});
    list.choice("form", &form, {"qdq", "qlinear"}, "of nodes");
    return list;
  }
};

TEST(Settings, RangesAreCheckedByTheDescription) {
  Described options;
  options.settings().check();
  const auto message = [&](Settings::Names names = Settings::Names::kSettings) {
    return message_of([&] { options.settings().check(names); });
  };
  options.batch = 65;
  EXPECT_EQ(message(), "batch is 65, expected 1 to 64");
  EXPECT_EQ(message(Settings::Names::kFlags), "--batch is 65, expected 1 to 64");
  options.batch = 64;
  options.sizes = {1, 0};
  EXPECT_EQ(message(), "sizes is 0, expected 1 to 64");
  options.sizes = {};
  options.drop = 0;
  EXPECT_EQ(message(), "drop is 0, expected more than 0, at most 100");
  options.drop = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message(), "drop is nan, expected more than 0, at most 100");
  options.drop.reset();
  options.rate = 0.25;
  EXPECT_EQ(message(), "rate is 0.25, expected 0, or 0.5 or more (0: any)");
}

TEST(Settings, ListsAndAbsentValuesGoThroughFilesAndArguments) {
  Described from;
  from.drop = 0.1 + 0.2;
  from.sizes = {4, 8};
  from.layers = {"conv1", "a b"};
  Described to;
  to.settings().read_yaml(from.settings().to_yaml(), "config.yaml");
  EXPECT_EQ(to.drop, from.drop);
  EXPECT_EQ(to.sizes, from.sizes);
  EXPECT_EQ(to.layers, from.layers);
  EXPECT_EQ(to.settings().hash(), from.settings().hash());
  EXPECT_EQ(from.settings().arguments({"sizes", "layers", "form"}),
            (std::vector<std::string>{"--sizes", "4,8", "--layers", "conv1", "--layers", "a b",
                                      "--form", "qdq"}));
  from.drop.reset();
  to.settings().read_yaml(from.settings().to_yaml(), "config.yaml");
  EXPECT_EQ(to.drop, std::nullopt);
  EXPECT_EQ(from.settings().arguments({"drop"}), std::vector<std::string>());
}

}  // namespace
}  // namespace trainyard
