#include <fstream>

#include <gtest/gtest.h>

#include "runs/weights/weights_file.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "support/torch_bytes.h"

namespace trainyard::runs {
namespace {

namespace tb = torch_bytes;

constexpr const char* kNoError = "no error";
const std::string kSix = tb::floats({0, 1, 2, 3, 4, 5});

class TorchFile : public ::testing::Test {
 protected:
  std::unique_ptr<WeightsFile> open(const std::string& bytes) const {
    // Not write_file(): these are many, and none needs to survive a power cut.
    std::ofstream(folder_ / "w.pth", std::ios::binary) << bytes;
    return open_weights(folder_ / "w.pth");
  }
  // Of opening the file and reading every tensor.
  std::string problem(const std::string& bytes) const {
    return message_of([&] {
      const auto file = open(bytes);
      for (size_t i = 0; i < file->tensors().size(); ++i) file->tensor(i);
    });
  }
  std::string body_problem(const std::string& body) const {
    return problem(tb::zip_file(body, {{"0", kSix}}));
  }

  TemporaryFolder folder_{"torch_file_test"};
};

std::vector<float> values(const Tensor& tensor) {
  const auto all = tensor.values<float>();
  return {all.begin(), all.end()};
}

TEST_F(TorchFile, BothFormatsGiveTensorsAndNumbers) {
  const std::string body =
      tb::dict({{"state_dict", tb::dict({
                                   {"rows", tb::tensor("0", 6, 0, {2, 3}, {3, 1})},
                                   {"turned", tb::tensor("0", 6, 0, {3, 2}, {1, 3})},
                                   {"part", tb::tensor("0", 6, 4, {2}, {1})},
                                   {"none", tb::tensor("0", 6, 0, {0, 4}, {4, 1})},
                               })},
                {"epoch", tb::number(7)},
                {"list", "](" + tb::number(1) + tb::text("two") + "e"}});
  for (const bool zip : {true, false}) {
    const auto file =
        open(zip ? tb::zip_file(body, {{"0", kSix}}) : tb::legacy_file(body, {{"0", kSix}}));
    EXPECT_EQ(file->format(), zip ? "PyTorch (zip)" : "PyTorch (before 1.6)");
    ASSERT_EQ(file->tensors().size(), 4U);
    EXPECT_EQ(file->tensors()[0].name, "state_dict.rows");
    EXPECT_EQ(file->tensors()[0].type, (TensorType{DType::kF32, {2, 3}}));
    EXPECT_EQ(values(file->tensor(0)), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(values(file->tensor(1)), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(values(file->tensor(2)), (std::vector<float>{4, 5}));
    EXPECT_EQ(file->tensor(3).num_elements(), 0);
    ASSERT_EQ(file->notes().size(), 3U);
    EXPECT_EQ(file->notes()[0].name, "epoch");
    EXPECT_EQ(file->notes()[0].value, "7");
    EXPECT_EQ(file->notes()[2].name, "list.1");
    EXPECT_EQ(file->notes()[2].value, "two");
  }
}

TEST_F(TorchFile, CodeIsRefusedByName) {
  const std::string call = "cposix\nsystem\n(" + tb::text("touch owned") + "tR";
  EXPECT_NE(body_problem(tb::dict({{"w", call}})).find("'posix.system'"), std::string::npos);
  const std::string stack = tb::text("builtins") + tb::text("eval") + "\x93";
  EXPECT_NE(body_problem(stack).find("'builtins.eval'"), std::string::npos);
  EXPECT_NE(body_problem("(itorch\nload\n").find("opcode 0x69"), std::string::npos);
  EXPECT_NE(body_problem("ctorch\nFloatStorage\n)R").find("a call of"), std::string::npos);
  EXPECT_NE(problem(tb::zip({{"a/constants.pkl", ""}, {"a/data.pkl", ""}})).find("TorchScript"),
            std::string::npos);
}

TEST_F(TorchFile, TensorsStayWithinTheirStorage) {
  const auto wrong = [&](const std::string& tensor) {
    return body_problem(tb::dict({{"w", tensor}}));
  };
  EXPECT_NE(wrong(tb::tensor("0", 6, 1, {2, 3}, {3, 1})).find("ends at element 6 of a storage"),
            std::string::npos);
  EXPECT_NE(wrong(tb::tensor("0", 6, 0, {1 << 30, 1 << 30}, {0, 0})).find("its storage has 6"),
            std::string::npos);
  EXPECT_NE(wrong(tb::tensor("0", 100, 0, {100}, {1})).find("expected 100 elements"),
            std::string::npos);
  EXPECT_NE(wrong(tb::tensor("9", 6, 0, {6}, {1})).find("no record 'archive/data/9'"),
            std::string::npos);
  EXPECT_NE(wrong(tb::tensor("0", 6, 0, {-6}, {1})).find("shape and strides"), std::string::npos);
  EXPECT_NE(wrong(tb::tensor("0", 6, 0, {6}, {1}, "StringStorage")).find("StringStorage"),
            std::string::npos);
  EXPECT_NE(wrong(tb::tensor("0", 24, 0, {24}, {1}, "BoolStorage")).find("in the bool tensor"),
            std::string::npos);
}

TEST_F(TorchFile, StructuresThatGrowAreCutOff) {
  // A list that holds itself, and lists of lists that double.
  EXPECT_NE(body_problem("]q\x01h\x01"
                         "a")
                .find("levels deep"),
            std::string::npos);
  std::string doubling = "](" + tb::number(1) + tb::number(2) + "eq" + std::string(1, '\0');
  for (char level = 1; level < 30; ++level) {
    const std::string before = "h" + std::string(1, static_cast<char>(level - 1));
    doubling += "](" + before + before + "eq" + std::string(1, level);
  }
  EXPECT_NE(body_problem("(" + doubling + "l").find("more than 1000000 entries"),
            std::string::npos);
  // Many tensors on one storage.
  tb::Members members;
  for (int i = 0; i < 2000; ++i) {
    members.emplace_back(std::to_string(i), tb::tensor("0", 6000, 0, {6000}, {1}));
  }
  EXPECT_NE(problem(tb::zip_file(tb::dict(members), {{"0", std::string(24000, 'x')}}))
                .find("share storages"),
            std::string::npos);
}

// A memo that grows much faster than the file.
TEST_F(TorchFile, MemosBeyondTheValuesAreRefused) {
  const std::string body = tb::dict({{"w", tb::tensor("0", 6, 0, {6}, {1})}});
  const auto before = static_cast<uint32_t>(tb::pickle(body).size() - 1);  // the end, '.'
  EXPECT_EQ(body_problem(body + "r" + tb::little(before)), kNoError);
  const std::string said = body_problem(body + "r" + tb::little(before + 1));
  EXPECT_NE(said.find("expected at most as many"), std::string::npos) << said;
}

TEST_F(TorchFile, EveryCutIsRefused) {
  const std::string body = tb::dict({{"w", tb::tensor("0", 6, 0, {6}, {1})}});
  for (const std::string& whole :
       {tb::zip_file(body, {{"0", kSix}}), tb::legacy_file(body, {{"0", kSix}})}) {
    EXPECT_EQ(problem(whole), kNoError);
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_NE(problem(whole.substr(0, size)), kNoError) << size;
    }
  }
}

TEST_F(TorchFile, FlippedBitsAreFoundByTheChecksum) {
  const std::string body = tb::dict({{"w", tb::tensor("0", 6, 0, {6}, {1})}});
  std::string bytes = tb::zip_file(body, {{"0", kSix}});
  bytes[bytes.find(kSix) + 5] ^= 0x10;
  EXPECT_NE(problem(bytes).find("record 'archive/data/0' is damaged"), std::string::npos);
}

TEST_F(TorchFile, CompressedRecordsAreRefused) {
  EXPECT_NE(problem(tb::zip({{"archive/data.pkl", "x"}}, /*method=*/8)).find("is compressed"),
            std::string::npos);
  EXPECT_NE(problem(tb::zip({{"other", "x"}})).find("without data.pkl"), std::string::npos);
}

TEST_F(TorchFile, MalformedPicklesAreRefused) {
  for (const std::string& body : {std::string("R"),
                                  std::string("t"),
                                  std::string("u"),
                                  std::string("("),
                                  std::string("0"),
                                  std::string("1"),
                                  std::string("Q"),
                                  std::string("b"),
                                  std::string("h\x05"),
                                  "}(" + tb::text("a") + "u",
                                  tb::text("a") + tb::text("b") + "a",
                                  std::string("N"),
                                  "r" + tb::little<uint32_t>(0xffffffff),
                                  tb::text("x"),
                                  std::string("\x8a\x09") + "123456789",
                                  "X" + tb::little<uint32_t>(0xffffffff),
                                  std::string("}}"),
                                  "})(" + std::string("NNd"),
                                  std::string(")Q"),
                                  "}(N" + tb::number(1) + "u"}) {
    EXPECT_NE(body_problem(body), kNoError) << body;
  }
}

}  // namespace
}  // namespace trainyard::runs
