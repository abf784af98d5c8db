#include "tensor/npy.h"

#include <gtest/gtest.h>

#include "base/error.h"

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
}

}  // namespace
}  // namespace trainyard
