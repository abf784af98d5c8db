// Damaged and hostile files: each is answered with Error naming file, place and reason.
#include <cstdint>
#include <filesystem>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "models/onnx/fixture.h"
#include "models/onnx/import.h"
#include "models/onnx/model_snapshot.h"

namespace trainyard::onnx_io {
namespace {

TEST(BadInput, EveryTruncationIsAnsweredWithAnError) {
  onnx::ModelProto model = relu_model();
  add_floats(model, "w", {4}, {1, 2, 3, 4});
  const std::string whole = model.SerializeAsString();
  ASSERT_EQ(import_error(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(import_error(whole.substr(0, size)), "") << size << " bytes";
  }
}

TEST(BadInput, FlippedBytesNeverCrash) {
  const std::string whole = relu_model().SerializeAsString();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char flip : {'\x01', '\x40', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      import_error(damaged);
    }
  }
}

TEST(BadInput, RandomBytesAreNoModel) {
  const RandomStream stream(1);
  for (uint64_t trial = 0; trial < 200; ++trial) {
    std::string bytes;
    for (uint64_t i = 0; i < 64; ++i) {
      bytes += static_cast<char>(stream.bits(trial * 64 + i));
    }
    EXPECT_NE(import_error(bytes), "") << "seed 1, trial " << trial;
  }
}

TEST(BadInput, MessagesNameFileAndReason) {
  EXPECT_EQ(import_error(std::string()),
            "test.onnx: it is not an ONNX model: there is no graph in it");
  EXPECT_EQ(import_error(std::string("\x3a\x7f")),
            "test.onnx: the file is cut off or damaged: a field at byte 2 needs 127 bytes, 0 are "
            "left");
}

TEST(BadInput, ACycleNamesANodeOfIt) {
  onnx::ModelProto model = empty_model();
  add_node(model, "Relu", {"b"}, {"a"}, "one");
  add_node(model, "Relu", {"a"}, {"b"}, "two");
  add_output(model, "b");
  EXPECT_EQ(import_error(model), "test.onnx: node 'one' (Relu): it depends on its own output");
}

TEST(BadInput, ANameThatNobodyMakes) {
  onnx::ModelProto model = empty_model();
  add_node(model, "Relu", {"nothing"}, {"y"}, "act");
  add_output(model, "y");
  EXPECT_EQ(import_error(model),
            "test.onnx: node 'act' (Relu): its input 'nothing' is made by no node, input or "
            "initializer");
  model = relu_model();
  add_output(model, "z");
  EXPECT_EQ(import_error(model), "test.onnx: output 'z' is made by no node");
}

TEST(BadInput, OneNameForTwoValues) {
  onnx::ModelProto model = relu_model();
  add_node(model, "Relu", {"x"}, {"y"}, "again");
  EXPECT_EQ(import_error(model),
            "test.onnx: node 'again' (Relu): the name 'y' is given to two values");
  model = relu_model();
  add_floats(model, "w", {1}, {1});
  add_floats(model, "w", {1}, {1});
  EXPECT_EQ(import_error(model), "test.onnx: an initializer: the name 'w' is given to two values");
  model = relu_model();
  add_node(model, "Dropout", {"x"}, {"d", "d"}, "drop");
  EXPECT_EQ(import_error(model),
            "test.onnx: node 'drop' (Dropout): two of its outputs have one name");
}

TEST(BadInput, DimensionsThatCannotBe) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2", "-3"});
  add_node(model, "Relu", {"x"}, {"y"}, "act");
  add_output(model, "y");
  EXPECT_EQ(import_error(model), "test.onnx: input 'x': dimension 1 is -3");

  model = empty_model();
  add_input(model, "x", {"4611686018427387904", "4611686018427387904"});
  add_node(model, "Relu", {"x"}, {"y"}, "act");
  add_output(model, "y");
  EXPECT_NE(import_error(model).find("input 'x': a tensor of shape"), std::string::npos);

  model = relu_model();
  add_floats(model, "w", {-1}, {1});
  EXPECT_EQ(import_error(model), "test.onnx: initializer 'w': it has a dimension of -1");
  model = relu_model();
  add_floats(model, "w", {int64_t{1} << 62, 16}, {1});
  EXPECT_NE(import_error(model).find("initializer 'w': a tensor of shape"), std::string::npos);
}

// Two numbers lie in a byte; five want three bytes.
TEST(BadInput, FourBitDataOfTheWrongLength) {
  constexpr int kInt4 = 22;
  for (const auto& [bytes, fits] : {std::pair{2, false}, {3, true}, {5, false}}) {
    onnx::ModelProto model = relu_model();
    auto* tensor = add_floats(model, "w", {5}, {});
    tensor->set_data_type(kInt4);
    tensor->set_raw_data(std::string(static_cast<size_t>(bytes), '\x21'));
    const std::string expected =
        fmt::format("test.onnx: initializer 'w': its type i4[5] wants 3 bytes, it has {}", bytes);
    EXPECT_EQ(import_error(model), fits ? "" : expected);
  }
}

TEST(BadInput, DataThatDoesNotFitItsDimensions) {
  onnx::ModelProto model = relu_model();
  add_floats(model, "w", {3}, {1, 2});
  EXPECT_EQ(import_error(model),
            "test.onnx: initializer 'w': its type f32[3] wants 12 bytes, it has 8");
  // A terabyte is refused before any of it is allocated.
  model = relu_model();
  auto* tensor = add_floats(model, "w", {int64_t{1} << 37}, {});
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_int64_data(1);
  EXPECT_EQ(import_error(model),
            "test.onnx: initializer 'w': its shape 137438953472 wants 137438953472 numbers, its 1 "
            "bytes hold fewer");
  model = relu_model();
  add_floats(model, "w", {3}, {});
  EXPECT_EQ(import_error(model),
            "test.onnx: initializer 'w': its type f32[3] wants 12 bytes, it has no data");
}

TEST(BadInput, TypesThatDoNotFit) {
  onnx::ModelProto model = relu_model();
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  EXPECT_EQ(import_error(model), "test.onnx: output 'y' is declared i64 but computes f32");
  model = relu_model();
  add_floats(model, "w", {1}, {1})->set_data_type(onnx::TensorProto::INT32);
  EXPECT_EQ(
      import_error(model),
      "test.onnx: initializer 'w': its numbers are kept in a field for another type than i32");
  model = relu_model();
  add_floats(model, "w", {1}, {1})->set_data_type(onnx::TensorProto::STRING);
  EXPECT_EQ(
      import_error(model),
      "test.onnx: initializer 'w': it is of texts, but its data are not in the field for texts");
  model = relu_model();
  add_floats(model, "w", {1}, {1})->set_data_type(77);
  EXPECT_EQ(
      import_error(model),
      "test.onnx: initializer 'w': its element type is 77 (no ONNX type), which is not supported");
}

TEST(BadInput, AllUnknownOperatorsInOneMessage) {
  onnx::ModelProto model = relu_model();
  add_node(model, "TreeEnsemble", {"x"}, {"a"})->set_domain("ai.onnx.ml");
  add_node(model, "Bernoulli", {"x"}, {"b"});
  add_node(model, "NotAnOperator", {"x"}, {"c"});
  EXPECT_EQ(import_error(model),
            "test.onnx: these operators are not supported: Bernoulli, NotAnOperator, "
            "TreeEnsemble (ai.onnx.ml)");
}

TEST(BadInput, AnOpsetOfTheFuture) {
  onnx::ModelProto model = relu_model();
  model.mutable_opset_import(0)->set_version(99);
  EXPECT_EQ(import_error(model), "test.onnx: its operators are of opset 99; 7 to 28 are supported");
}

TEST(BadInput, WrongAttributesNameNodeAndAttribute) {
  onnx::ModelProto model = relu_model();
  set_int(model.mutable_graph()->mutable_node(0), "slope", 1);
  EXPECT_NE(import_error(model).find("node 'act' (Relu): it has no attribute 'slope'"),
            std::string::npos);
  model = relu_model();
  auto* flat = add_node(model, "Flatten", {"x"}, {"f"}, "flat");
  set_text(flat, "axis", "1");
  EXPECT_NE(import_error(model).find("node 'flat' (Flatten): attribute 'axis'"), std::string::npos);
  set_int(flat, "axis", 1);
  EXPECT_EQ(import_error(model),
            "test.onnx: node 'flat' (Flatten), attribute 'axis': it is given twice");
}

TEST(BadInput, NestingHasALimit) {
  onnx::AttributeProto inner;
  inner.set_name("g");
  for (int depth = 0; depth < 200; ++depth) {
    onnx::AttributeProto outer;
    outer.set_name("g");
    outer.set_type(onnx::AttributeProto::GRAPH);
    *outer.mutable_g()->add_node()->add_attribute() = inner;
    inner = outer;
  }
  onnx::ModelProto model = relu_model();
  *model.mutable_graph()->mutable_node(0)->add_attribute() = inner;
  EXPECT_NE(import_error(model).find("nested more than 100 deep"), std::string::npos);
}

TEST(BadInput, ARankOfBillionsIsRefused) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"1"});
  add_input(model, "shape", {"2000000000"}, onnx::TensorProto::INT64);
  add_node(model, "Reshape", {"x", "shape"}, {"y"}, "view");
  add_output(model, "y");
  EXPECT_EQ(import_error(model),
            "test.onnx: node 'view' (Reshape): a tensor of 2000000000 dimensions, at most 64 are "
            "possible");
}

TEST(BadInput, ADiagonalOfMillionsIsRefusedBeforeItTakesMemory) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"3000000", "3000000"});
  set_text(add_node(model, "Einsum", {"x"}, {"y"}, "trace"), "equation", "ii->i");
  add_output(model, "y");
  EXPECT_EQ(import_error(model),
            "test.onnx: node 'trace' (Einsum): the diagonal 'i' has 3000000 elements, expected at "
            "most 8192");
}

TEST(BadInput, MillionsOfEmptyNodesAreRefusedBeforeTheyTakeMemory) {
  std::string graph;
  for (int i = 0; i < 1'100'000; ++i) graph += std::string("\x0a\x00", 2);
  std::string file = "\x3a";
  for (size_t rest = graph.size(); rest > 0; rest >>= 7) {
    file += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  EXPECT_EQ(import_error(file + graph), "test.onnx: it has more than 1000000 nodes and tensors");
}

// --- external data

std::string external_error(const std::filesystem::path& folder, const std::string& location,
                           const std::string& offset = "0", const std::string& length = "8") {
  onnx::ModelProto model = relu_model();
  auto* tensor = add_floats(model, "w", {2}, {});
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair{"location", location}, {"offset", offset}, {"length", length}}) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  write_file(folder / "m.onnx", model.SerializeAsString());
  try {
    import_model(folder / "m.onnx");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// A server builds a model anew for every shape it is asked for.
TEST(BadInput, AHeldModelKeepsItsExternalData) {
  const TemporaryFolder folder;
  ASSERT_NE(external_error(folder.path(), "w.bin"), "");
  write_file(folder.path() / "w.bin", "12345678");
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(read_file(folder.path() / "m.onnx")));
  add_node(model, "Neg", {"w"}, {"z"});
  add_output(model, "z", {"2"});
  write_file(folder.path() / "m.onnx", model.SerializeAsString());
  const ModelSnapshot held(folder.path() / "m.onnx");
  const auto weights = [&] {
    const Graph graph = held.import({});
    const Tensor& w = *graph.value(graph.find_value("w")).constant;
    return std::string(static_cast<const char*>(w.data()), 8);
  };
  EXPECT_EQ(weights(), "12345678");
  write_file(folder.path() / "w.bin", "abcdefgh");
  EXPECT_EQ(weights(), "12345678");
  std::filesystem::remove(folder.path() / "w.bin");
  EXPECT_EQ(weights(), "12345678");
}

TEST(BadInput, ExternalDataStaysInTheFolderOfTheModel) {
  const TemporaryFolder outside;
  const TemporaryFolder folder;
  write_file(outside.path() / "secret", "12345678");
  write_file(folder.path() / "w.bin", "12345678");
  std::filesystem::create_symlink(outside.path() / "secret", folder.path() / "link");
  std::filesystem::create_directory(folder.path() / "sub");
  const auto refused = [&](const std::string& location, const std::string& reason) {
    const std::string error = external_error(folder.path(), location);
    EXPECT_NE(error.find(reason), std::string::npos) << location << ": " << error;
    EXPECT_NE(error.find("initializer 'w'"), std::string::npos) << error;
  };
  EXPECT_EQ(external_error(folder.path(), "w.bin"), "");
  refused((outside.path() / "secret").string(), "absolute path");
  refused("../" + outside.path().filename().string() + "/secret", "leaves the model's folder");
  refused("sub/../../x", "leaves the model's folder");
  refused("link", "is a link that leaves the model's folder");
  refused("missing.bin", "cannot be opened");
  refused("sub", "not a regular file");
  refused("", "no file name");
  refused(std::string(300, 'a'), "cannot be opened");
}

TEST(BadInput, ExternalDataMustReachFarEnough) {
  const TemporaryFolder folder;
  write_file(folder.path() / "w.bin", "12345678");
  const auto refused = [&](const std::string& offset, const std::string& length) {
    EXPECT_NE(external_error(folder.path(), "w.bin", offset, length), "")
        << offset << " " << length;
  };
  refused("1", "8");
  refused("0", "4");
  refused("0", "9");
  refused("-8", "8");
  refused("9", "8");
  refused("99999999999999999999", "8");
  refused("9223372036854775807", "9223372036854775807");
  refused("x", "8");
}

TEST(BadInput, BytesInMemoryHaveNoExternalData) {
  onnx::ModelProto model = relu_model();
  auto* tensor = add_floats(model, "w", {2}, {});
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  EXPECT_EQ(import_error(model),
            "test.onnx: initializer 'w': its external data 'w.bin' cannot be found without a "
            "folder");
}

}  // namespace
}  // namespace trainyard::onnx_io
