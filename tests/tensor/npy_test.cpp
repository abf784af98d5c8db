#include "tensor/npy.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/text.h"

namespace trainyard {
namespace {

TEST(Npy, EveryTypeComesBack) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kI8, DType::kI64, DType::kU8, DType::kBool}) {
    const Tensor tensor = Tensor::zeros({dtype, Shape{2, 3}});
    EXPECT_EQ(parse_npy(npy_bytes(tensor), "test").type(), tensor.type());
  }
  const Tensor scalar = parse_npy(npy_bytes(Tensor::scalar(2.5F)), "test");
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_EQ(scalar.values<float>()[0], 2.5F);
  EXPECT_EQ(npy_bytes(scalar).size() % 64, 4U);
}

TEST(Npy, WhatNumPyDoesNotKnowIsWidened) {
  for (const DType dtype : {DType::kBF16, DType::kF8E4M3, DType::kI4, DType::kU2}) {
    const float values[] = {0, 1};
    const Tensor numbers = cast(Tensor::of<float>(Shape{2}, values), dtype);
    const Tensor back = parse_npy(npy_bytes(numbers), "test");
    EXPECT_EQ(back.type(), (TensorType{DType::kF32, Shape{2}})) << dtype_name(dtype);
    EXPECT_EQ(back.values<float>()[1], 1) << dtype_name(dtype);
  }
}

TEST(Npy, TextsHaveTheLengthOfTheLongest) {
  const std::vector<std::string> texts = {"cat", "", "horse"};
  const std::string bytes = npy_bytes(text_tensor(Shape{3}, texts));
  EXPECT_NE(bytes.find("'descr': '|S5'"), std::string::npos);
  EXPECT_TRUE(bytes.ends_with(std::string("cat\0\0\0\0\0\0\0horse", 15)));
  EXPECT_TRUE(npy_bytes(Tensor::zeros({DType::kText, Shape{2}})).ends_with(std::string(2, '\0')));
}

TEST(Npy, DamageIsNamed) {
  const std::string good = npy_bytes(Tensor::scalar(1.0F));
  const auto message = [](const std::string& bytes) {
    try {
      parse_npy(bytes, "x.npy");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("hello"), "x.npy: not a .npy file");
  EXPECT_EQ(message(good.substr(0, good.size() - 1)),
            "x.npy: f32[] holds 3 bytes of data, expected 4");
  EXPECT_EQ(message(good.substr(0, 40)), "x.npy: the .npy header is cut short");
  std::string endless = npy_bytes(Tensor::zeros({DType::kF32, Shape{1}}));
  endless.replace(endless.find("(1, )"), 23, "(288230376151711744, )}");
  EXPECT_EQ(message(endless),
            "x.npy: f32[288230376151711744] holds 4 bytes of data, expected 1152921504606846976");
  std::string fortran = good;
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_EQ(message(fortran),
            "x.npy: Fortran order is not read; save with numpy.ascontiguousarray");
  std::string truths = npy_bytes(Tensor::zeros({DType::kBool, Shape{3}}));
  truths.back() = '\2';
  EXPECT_EQ(message(truths), "x.npy: element 2 of bool[3] is 2, expected 0 or 1");
}

}  // namespace
}  // namespace trainyard
