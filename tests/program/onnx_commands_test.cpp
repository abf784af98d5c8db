#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

class OnnxCommands : public ::testing::Test {
 protected:
  OnnxCommands() {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~OnnxCommands() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  int run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = run_program(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  std::filesystem::path folder_;
  std::string out_;
  std::string err_;
};

TEST_F(OnnxCommands, WhatIsExportedIsRight) {
  EXPECT_EQ(run({"export", "lenet5", "-o", path("lenet5.onnx"), "--batch", "4", "--json"}), 0)
      << err_;
  EXPECT_EQ(Json::parse(out_, "export").at("bytes").as_int(),
            static_cast<int64_t>(std::filesystem::file_size(path("lenet5.onnx"))));
  EXPECT_EQ(run({"check", path("lenet5.onnx"), "--json"}), 0) << out_;
  const Json report = Json::parse(out_, "check");
  EXPECT_TRUE(report.at("ok").as_bool());
  EXPECT_EQ(report.at("opset").as_int(), 17);
  EXPECT_EQ(run({"analyze", path("lenet5.onnx"), "--json"}), 0) << err_;
}

TEST_F(OnnxCommands, ADamagedFileIsAWrongRequest) {
  EXPECT_EQ(run({"export", "lenet5", "-o", path("m.onnx")}), 0) << err_;
  std::filesystem::resize_file(path("m.onnx"), 1000);
  EXPECT_EQ(run({"analyze", path("m.onnx")}), 2);
  EXPECT_NE(err_.find("m.onnx: the file is cut off or damaged"), std::string::npos) << err_;
  EXPECT_EQ(run({"check", path("m.onnx")}), 2);
  EXPECT_NE(err_.find("cut off or damaged"), std::string::npos) << err_;
  EXPECT_EQ(run({"check", path("m.onnx"), "--json"}), 2);
  EXPECT_NE(out_.find("cut off or damaged"), std::string::npos) << out_;
}

TEST_F(OnnxCommands, ExportSaysWhatItNeeds) {
  EXPECT_EQ(run({"export", "lenet5"}), 2);
  EXPECT_NE(err_.find("-o lenet5.onnx"), std::string::npos) << err_;
  EXPECT_EQ(run({"check", path("missing.onnx")}), 2);
  EXPECT_NE(err_.find("missing.onnx: cannot be opened"), std::string::npos) << err_;
}

}  // namespace
}  // namespace trainyard::cli
