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
            (Words{"--model", "a b", "--lr", "0.30000000000000004", "--flip"}));
  options.flip = false;
  EXPECT_EQ(options.settings().arguments({"flip"}), Words{});
  EXPECT_EQ(options.settings().arguments({"flip"}, Settings::Switches::kOnOrOff),
            (Words{"--flip", "off"}));
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

}  // namespace
}  // namespace trainyard
