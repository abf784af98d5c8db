#include "runs/safetensors.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/random.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::runs {
namespace {

class Safetensors : public ::testing::Test {
 protected:
  // A file with this header text and so many bytes of data.
  std::filesystem::path file(const std::string& header, size_t data_bytes) const {
    const uint64_t length = header.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    write_file(folder_ / "x", bytes + header + std::string(data_bytes, '\1'));
    return folder_ / "x";
  }
  std::string problem(const std::string& header, size_t data_bytes) const {
    const auto path = file(header, data_bytes);
    return message_of([&] { SafetensorsFile{path}; });
  }

  TemporaryFolder folder_{"safetensors_test"};
};

Tensor floats(Shape shape, float first) {
  Tensor tensor(DType::kF32, std::move(shape));
  for (float& value : tensor.values<float>()) value = first++;
  return tensor;
}

void write_all(const std::filesystem::path& path, std::span<const Tensor> tensors,
               const std::map<std::string, std::string>& metadata) {
  std::vector<NamedType> types;
  for (const Tensor& tensor : tensors)
    types.push_back({"t" + std::to_string(types.size()), tensor.type()});
  std::vector<uint32_t> checksums;
  for (const Tensor& tensor : tensors) checksums.push_back(checksum_of(tensor));
  SafetensorsWriter writer(path, types, metadata, checksums);
  for (const Tensor& tensor : tensors) writer.write(tensor);
  writer.commit();
}

TEST_F(Safetensors, ReadsWhatItWrote) {
  std::vector<Tensor> tensors;
  tensors.push_back(floats({2, 3}, 1));
  tensors.push_back(Tensor::scalar<double>(0.1));
  tensors.push_back(Tensor::of<bool>({3}, std::array{true, false, true}));
  tensors.push_back(Tensor::of_ints(std::vector<int64_t>{-5, int64_t{1} << 40}));
  tensors.push_back(Tensor::of<int32_t>({2}, std::array{-1, 7}));
  tensors.push_back(Tensor::of<uint8_t>({1}, std::array<uint8_t, 1>{200}));
  tensors.push_back(floats({0, 4}, 1));
  const std::map<std::string, std::string> metadata = {{"a", "quote \" and \n line"}, {"b", "é"}};
  write_all(folder_ / "x", tensors, metadata);

  const SafetensorsFile read(folder_ / "x");
  EXPECT_EQ(read.metadata(), metadata);
  ASSERT_EQ(read.tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor tensor = read.tensor("t" + std::to_string(i));
    ASSERT_EQ(tensor.type(), tensors[i].type());
    EXPECT_EQ(
        std::memcmp(tensor.data(), tensors[i].data(), static_cast<size_t>(tensor.num_bytes())), 0)
        << i;
  }
  EXPECT_EQ(read.tensors()[0].begin % 64, 0);
}

TEST_F(Safetensors, AnyFlippedBitNamesItsTensor) {
  write_all(folder_ / "x", std::array{floats({5}, 1), floats({3, 7}, 2), floats({2}, 3)}, {});
  const std::string whole = read_file(folder_ / "x");
  const SafetensorsFile file(folder_ / "x");
  for (const StoredTensor& stored : file.tensors()) {
    for (int64_t byte = 0; byte < stored.type.num_bytes(); ++byte) {
      std::string damaged = whole;
      damaged[static_cast<size_t>(stored.begin + byte)] ^= static_cast<char>(1 << (byte % 8));
      write_file(folder_ / "damaged", damaged);
      const SafetensorsFile other(folder_ / "damaged");
      for (const StoredTensor& any : other.tensors()) {
        const std::string message = message_of([&] { other.tensor(any.name); });
        EXPECT_EQ(message.find("tensor '" + any.name + "' is damaged") != std::string::npos,
                  any.name == stored.name)
            << any.name << ", byte " << byte << " of " << stored.name << ": " << message;
      }
    }
  }
}

TEST_F(Safetensors, FilesWithoutChecksumsAreReadAsTheyAre) {
  SafetensorsWriter writer(folder_ / "x", {{"a", {DType::kF32, {2}}}}, {{"model", "m"}});
  writer.write(floats({2}, 5));
  writer.commit();
  EXPECT_EQ(SafetensorsFile(folder_ / "x").tensor("a").values<float>()[1], 6);
}

TEST_F(Safetensors, ATensorOutlivesItsFileObject) {
  write_all(folder_ / "x", std::array{floats({4}, 3)}, {});
  const Tensor tensor = SafetensorsFile(folder_ / "x").tensor("t0");
  EXPECT_EQ(tensor.values<float>()[3], 6.0F);
}

TEST_F(Safetensors, ReadsHeadersOfOtherWriters) {
  const auto path =
      file(R"( {"b\u00e9\ud83d\ude00\/":{"shape":[1, 2],"data_offsets":[2,4],"dtype":"U8"} ,
      "__metadata__":{}, "a": {"dtype":"F16","shape":[],"data_offsets":[0,2]}}   )",
           4);
  const SafetensorsFile read(path);
  ASSERT_EQ(read.tensors().size(), 2U);
  EXPECT_EQ(read.tensors()[0].name, "a");
  EXPECT_EQ(read.tensors()[1].name, "b\xc3\xa9\xf0\x9f\x98\x80/");
  EXPECT_EQ(read.tensors()[1].type.to_string(), "u8[1,2]");
}

TEST_F(Safetensors, RefusesHeadersThatDoNotFitTheFile) {
  const auto has = [&](const std::string& header, size_t bytes, const std::string& part) {
    const std::string message = problem(header, bytes);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("x: not a whole safetensors file: "), std::string::npos) << message;
    EXPECT_NE(message.find(" at byte "), std::string::npos) << message;
  };
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_EQ(problem("{" + a + "}", 8), "no error");
  has("{" + a + "}", 7, "'a' ends 1 bytes behind the end");
  has("{" + a + "}", 9, "1 bytes follow the last tensor");
  has("{" + a + "," + a + "}", 8, "'a' appears twice at byte 66");
  has("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8, "begin at byte");
  has("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]}})", 10, "begin at byte");
  has(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8, "'F31' is not read");
  has(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "f32[3] of 12 bytes");
  has(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "whole number from 0");
  has(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "begin and end");
  has(R"({"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,8]}})", 8,
      "beyond all memory");
  has(R"({"a":{"dtype":"F32","shape":[2]}})", 0, "lacks one of");
  has(R"({"a":{"dtype":"F32","shape":[2],"offsets":[0,8]}})", 8, "unknown field 'offsets'");
  has("{" + a, 8, "ends too early");
  has("", 0, "ends too early");
  has("{" + a + "}x", 8, "something follows");
}

TEST_F(Safetensors, RefusesFilesThatAreCutShort) {
  write_all(folder_ / "x", std::array{floats({100}, 1)}, {{"k", "v"}});
  const std::string whole = read_file(folder_ / "x");
  for (size_t size = 0; size < whole.size(); size += 7) {
    write_file(folder_ / "x", whole.substr(0, size));
    EXPECT_THROW(SafetensorsFile{folder_ / "x"}, Error) << size;
  }
  std::string absurd = whole;
  absurd.replace(0, 8, 8, '\xff');
  write_file(folder_ / "x", absurd);
  EXPECT_NE(message_of([&] { SafetensorsFile{folder_ / "x"}; }).find("18446744073709551615"),
            std::string::npos);
}

// Whatever is read is in bounds; whatever is not is an Error.
TEST_F(Safetensors, SurvivesRandomDamage) {
  constexpr uint64_t kSeed = 4;
  constexpr uint64_t kRounds = 300;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::vector<Tensor> tensors;
  tensors.push_back(floats({3}, 1));
  tensors.push_back(Tensor::zeros({DType::kBool, Shape{5}}));
  tensors.push_back(Tensor::zeros({DType::kU8, Shape{2, 2}}));
  write_all(folder_ / "x", tensors, {{"key", "value"}});
  const std::string whole = read_file(folder_ / "x");
  const RandomStream random(kSeed);
  int64_t refused = 0;
  for (uint64_t round = 0; round < kRounds; ++round) {
    std::string damaged = whole;
    const uint64_t changes = 1 + random.below(round * 100, 4);
    for (uint64_t i = 1; i <= changes; ++i) {
      const size_t at = random.below(round * 100 + 2 * i, damaged.size());
      damaged[at] = static_cast<char>(random.bits(round * 100 + 2 * i + 1));
    }
    write_file(folder_ / "x", damaged);
    try {
      const SafetensorsFile read(folder_ / "x");
      double sum = 0;
      for (const StoredTensor& stored : read.tensors()) {
        const Tensor tensor = read.tensor(stored.name);
        for (int64_t i = 0; i < tensor.num_elements(); ++i) sum += element_as_double(tensor, i);
      }
      EXPECT_NE(sum, -1);
    } catch (const Error&) {
      ++refused;
    }
  }
  // Most of the file is header, and most of a header cannot change.
  EXPECT_GT(refused, kRounds / 2);
}

TEST_F(Safetensors, SaysWhatIsMissing) {
  write_all(folder_ / "x", std::array{floats({1}, 1)}, {});
  const SafetensorsFile read(folder_ / "x");
  EXPECT_EQ(read.find("t1"), nullptr);
  EXPECT_NE(message_of([&] { read.tensor("t1"); }).find("Did you mean t0?"), std::string::npos);
  const auto bad = file(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  std::string bytes = read_file(bad);
  bytes.back() = '\2';
  write_file(bad, bytes);
  EXPECT_NE(message_of([&] { SafetensorsFile(bad).tensor("a"); }).find("byte 64: 2 in the bool"),
            std::string::npos);
}

TEST_F(Safetensors, RefusesToWriteTwoTensorsOfOneName) {
  const TensorType type = {DType::kF32, Shape{1}};
  EXPECT_THROW(SafetensorsWriter(folder_ / "x", {{"a", type}, {"a", type}}, {}), Error);
  EXPECT_THROW(SafetensorsWriter(folder_ / "x", {{"__metadata__", type}}, {}), Error);
  SafetensorsWriter writer(folder_ / "x", {{"a", type}}, {});
  EXPECT_THROW(writer.commit(), InternalError);
  EXPECT_THROW(writer.write(floats({2}, 0)), InternalError);
}

}  // namespace
}  // namespace trainyard::runs
