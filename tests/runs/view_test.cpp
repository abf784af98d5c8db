#include "runs/view.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::report {
namespace {

// A run of two classes with so many epochs.
std::filesystem::path make_run(const TemporaryFolder& folder, const std::string& name, int batch,
                               int epochs) {
  std::filesystem::path directory = folder / name;
  std::filesystem::create_directories(directory);
  write_file(directory / "config.yaml", fmt::format("model: lenet5\nbatch: {}\nseed: 1\n", batch));
  std::string lines;
  for (int e = 1; e <= epochs; ++e) {
    for (int s = 1; s <= 3; ++s) {
      lines += fmt::format("{{\"step\":{},\"loss\":{}}}\n", 3 * (e - 1) + s, 1.0 / e);
    }
    lines += fmt::format(
        "{{\"step\":{},\"epoch\":{},\"train_loss\":{},\"train_accuracy\":0.5,\"images_per_s\":{},"
        "\"seconds\":{},\"test_loss\":0.6,\"test_top1\":{},\"confusion\":[5,1,2,4]}}\n",
        3 * e, e, 1.0 / e, 10 * batch, 2 * e, 0.7 + 0.1 * e);
  }
  write_file(directory / "metrics.jsonl", lines);
  return directory;
}

TEST(Runs, AreComparedWithTheBestMarked) {
  const TemporaryFolder folder("runs");
  const std::vector<std::filesystem::path> directories = {make_run(folder, "small", 32, 2),
                                                          make_run(folder, "large", 64, 1)};
  const Document document = runs_document(directories);
  const std::string text = render(document, Format::kText);
  for (const char* piece : {"2 training runs", "*90.00 %", "*640", "batch    32     64",
                            "small, test   ○ small, training", "Mistakes of small"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  }
  EXPECT_EQ(text.find("seed     "), std::string::npos) << "the same in both";
  const Json& runs = document.data.at("runs");
  EXPECT_EQ(runs.items().size(), 2U);
  EXPECT_NEAR(runs.items()[0].at("best_top1").as_number(), 0.9, 1e-12);
}

TEST(Runs, SettingsOfLaterRunsAloneAreDifferencesToo) {
  const TemporaryFolder folder("newer");
  const std::vector<std::filesystem::path> directories = {make_run(folder, "older", 32, 1),
                                                          make_run(folder, "newer", 32, 1)};
  write_file(directories[1] / "config.yaml", "model: lenet5\nbatch: 32\nseed: 1\nclip_norm: 2\n");
  const std::string text = render(runs_document(directories), Format::kText);
  EXPECT_NE(text.find("clip_norm"), std::string::npos) << text;
}

TEST(Runs, OneRunHasNoDifferences) {
  const TemporaryFolder folder("run");
  const std::vector<std::filesystem::path> one = {make_run(folder, "only", 32, 1)};
  EXPECT_EQ(render(runs_document(one), Format::kText).find("Settings that differ"),
            std::string::npos);
}

TEST(Runs, SaysWhatIsNoRun) {
  const TemporaryFolder folder("none");
  const std::vector<std::filesystem::path> none = {folder.path()};
  EXPECT_NE(message_of([&] { runs_document(none); }).find("no config.yaml"), std::string::npos);
  const std::vector<std::filesystem::path> begun = {make_run(folder, "begun", 32, 0)};
  EXPECT_NE(message_of([&] { runs_document(begun); }).find("no step is recorded"),
            std::string::npos);
}

TEST(Runs, StepsAloneAreShownToo) {
  const TemporaryFolder folder("steps");
  const std::vector<std::filesystem::path> one = {make_run(folder, "short", 32, 0)};
  write_file(one[0] / "metrics.jsonl", "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1.5}\n");
  const std::string text = render(runs_document(one), Format::kText);
  EXPECT_NE(text.find("1.5000"), std::string::npos) << text;
  EXPECT_NE(text.find("step by step"), std::string::npos) << text;
}

TEST(Runs, TheBestIsMarkedAmongComparableRunsAlone) {
  const TemporaryFolder folder("best");
  const std::vector<std::filesystem::path> two = {make_run(folder, "a", 32, 2),
                                                  make_run(folder, "b", 64, 1)};
  write_file(two[1] / "config.yaml", "model: lenet5\nbatch: 64\nseed: 1\ndata: other\n");
  EXPECT_EQ(render(runs_document(two), Format::kText).find("*90.00 %"), std::string::npos);
}

// A smoothed loss is another function: less of it is not better.
TEST(Runs, LossesOfOtherKindsAreNotCompared) {
  const TemporaryFolder folder("losses");
  const std::vector<std::filesystem::path> two = {make_run(folder, "a", 32, 2),
                                                  make_run(folder, "b", 32, 1)};
  const auto text_with = [&](const std::string& first, const std::string& second) {
    write_file(two[0] / "config.yaml", "model: lenet5\nbatch: 32\n" + first);
    write_file(two[1] / "config.yaml", "model: lenet5\nbatch: 32\n" + second);
    return render(runs_document(two), Format::kText);
  };
  std::string lines = read_file(two[1] / "metrics.jsonl");
  lines.replace(lines.find("\"test_loss\":0.6"), 15, "\"test_loss\":0.7");
  write_file(two[1] / "metrics.jsonl", lines);
  const std::string plain = "loss: cross-entropy\nlabel_smoothing: 0\n";
  const std::string smooth = "loss: cross-entropy\nlabel_smoothing: 0.1\n";
  EXPECT_NE(text_with(plain, plain).find("*0.5000"), std::string::npos);
  EXPECT_EQ(text_with(plain, smooth).find("*0.5000"), std::string::npos);
  EXPECT_NE(text_with(plain, smooth).find("*0.6000"), std::string::npos)
      << "the test of both is plain cross-entropy";
  const std::string other = text_with(plain, "loss: focal\nlabel_smoothing: 0\n");
  EXPECT_EQ(other.find("*0.6000"), std::string::npos);
  EXPECT_NE(other.find("*90.00 %"), std::string::npos);
}

TEST(Runs, RatesNormsAndSpeedsAreShownAndOneOutlierRuinsNothing) {
  const TemporaryFolder folder("outlier");
  const std::vector<std::filesystem::path> one = {make_run(folder, "a", 32, 4)};
  const auto axis_of_loss = [&] {
    const Json page = bundle(runs_document(one), "");
    return page.dump(-1).find("The axis is logarithmic") != std::string::npos;
  };
  EXPECT_FALSE(axis_of_loss());
  write_file(one[0] / "metrics.jsonl",
             read_file(one[0] / "metrics.jsonl") +
                 "{\"step\":13,\"loss\":1,\"learning_rate\":0.1,\"gradient_norm\":2}\n"
                 "{\"step\":14,\"loss\":1,\"learning_rate\":0.2,\"gradient_norm\":3}\n"
                 "{\"step\":14,\"epoch\":5,\"train_loss\":1,\"images_per_s\":9,\"seconds\":9,"
                 "\"test_loss\":519,\"test_top1\":0.5}\n");
  EXPECT_TRUE(axis_of_loss());
  const std::string text = render(runs_document(one), Format::kText);
  for (const char* title : {"Learning rate", "Norm of the gradients", "Throughput"}) {
    EXPECT_NE(text.find(title), std::string::npos) << title;
  }
}

TEST(Runs, RunsThatDifferInTheirSeedsHaveAMean) {
  const TemporaryFolder folder("seeds");
  std::vector<std::filesystem::path> runs;
  for (int seed = 1; seed <= 3; ++seed) {
    runs.push_back(make_run(folder, fmt::format("seed-{}", seed), 32, 2));
    write_file(runs.back() / "config.yaml",
               fmt::format("model: lenet5\nbatch: 32\nseed: {}\n", seed));
  }
  const std::string text = render(runs_document(runs), Format::kText);
  EXPECT_NE(text.find("mean of 3 seeds"), std::string::npos) << text;
  write_file(runs[2] / "config.yaml", "model: lenet5\nbatch: 64\nseed: 3\n");
  EXPECT_EQ(render(runs_document(runs), Format::kText).find("mean of 3 seeds"), std::string::npos);
}

TEST(Runs, ClassesAreNamed) {
  const TemporaryFolder folder("classes");
  const std::vector<std::filesystem::path> one = {make_run(folder, "named", 32, 1)};
  write_file(one[0] / "classes.txt", "cat\ndog\n");
  EXPECT_NE(render(runs_document(one), Format::kText).find("cat"), std::string::npos);
}

TEST(Runs, RecallAndConfusedPairsAreInEveryFormat) {
  const TemporaryFolder folder("recall");
  const std::vector<std::filesystem::path> two = {make_run(folder, "a", 32, 1),
                                                  make_run(folder, "b", 64, 1)};
  for (const auto& run : two) write_file(run / "classes.txt", "cat\ndog\n");
  const Document one = runs_document(std::span(two).first(1));
  // 5 cats of 6 and 4 dogs of 6; 1 cat was taken for a dog and 2 dogs for cats.
  EXPECT_NE(render(one, Format::kMarkdown).find("| cat | 6 | 5 | 83.3 % | 71.4 % |"),
            std::string::npos);
  EXPECT_NE(render(one, Format::kMarkdown).find("| dog | cat | 2 | 33.3 % |"), std::string::npos);
  EXPECT_NE(render(one, Format::kText).find("83.3 %"), std::string::npos);
  const Document both = runs_document(two);
  EXPECT_NE(render(both, Format::kMarkdown).find("| dog | 66.7 % | 66.7 % |"), std::string::npos);
}

TEST(Runs, OfManyClassesThoseWithTheLowestRecallAreShown) {
  const TemporaryFolder folder("wide");
  const std::vector<std::filesystem::path> one = {make_run(folder, "wide", 32, 1)};
  constexpr size_t kClasses = 30;
  std::string counts;
  for (size_t truth = 0; truth < kClasses; ++truth) {
    for (size_t guess = 0; guess < kClasses; ++guess) {
      // Class 7 is taken for class 8 by half; of the others all are right.
      const int count = truth == guess ? (truth == 7 ? 5 : 10) : truth == 7 && guess == 8 ? 5 : 0;
      counts += fmt::format("{}{}", counts.empty() ? "" : ",", count);
    }
  }
  write_file(
      one[0] / "metrics.jsonl",
      fmt::format("{{\"step\":1,\"epoch\":1,\"train_loss\":1,\"confusion\":[{}]}}\n", counts));
  const std::string text = render(runs_document(one), Format::kMarkdown);
  EXPECT_NE(text.find("The 20 classes of 30 with the lowest recall"), std::string::npos) << text;
  EXPECT_NE(text.find("| 7 | 10 | 5 | 50.0 % | 100.0 % |\n| 0 | 10 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| 7 | 8 | 5 | 50.0 % |"), std::string::npos) << text;
  write_file(one[0] / "metrics.jsonl",
             "{\"step\":1,\"epoch\":1,\"train_loss\":1,\"confusion\":[1,2,3,4,5,6,7]}\n");
  EXPECT_NE(message_of([&] { runs_document(one); }).find("no square"), std::string::npos);
}

TEST(Runs, ADamagedConfigIsNamed) {
  const TemporaryFolder folder("damaged");
  const std::vector<std::filesystem::path> one = {make_run(folder, "bad", 32, 1)};
  for (const char* text : {"[1, 2]\n", "color: red\n", "model: lenet5\nbatch: many\n", ""}) {
    write_file(one[0] / "config.yaml", text);
    EXPECT_NE(message_of([&] { runs_document(one); }).find("config.yaml:"), std::string::npos)
        << text;
  }
}

// A page whose data would end the script, or keep it from ending.
TEST(Runs, NoTextLeavesTheDataOfAPage) {
  const TemporaryFolder folder("names");
  const std::vector<std::filesystem::path> one = {
      make_run(folder, "<!--<script>alert(1)<-script>", 32, 1)};
  const std::string page = render(runs_document(one), Format::kHtml);
  EXPECT_EQ(page.find("<!--<script>"), std::string::npos);
  const size_t begin = page.find("id=\"charts\">");
  if (begin == std::string::npos) GTEST_SKIP() << "built without Node";
  const std::string data = page.substr(begin + 12, page.find("</script>", begin) - begin - 12);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_NE(data.find("\\u003c!--"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::report
