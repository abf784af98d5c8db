#include "report/formula.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::report {
namespace {

constexpr const char* kRing =
    R"(T = 2(n-1)\alpha + \frac{2(n-1)}{n} \cdot \frac{M}{B} = 1,234.5 \text{us} = -3)";

TEST(Formula, IsOneLineOfText) {
  EXPECT_EQ(Formula(kRing).text(), "T = 2(n - 1)α + 2(n - 1) / n · M / B = 1,234.5 us = -3");
  EXPECT_EQ(Formula(R"(\frac{a+b}{c})").text(), "(a + b) / c");
  EXPECT_EQ(Formula(R"(Q(s,a) \leftarrow r + \gamma \max_{a'} Q(s',a'))").text(),
            "Q(s, a) ← r + γ max_a' Q(s', a')");
  EXPECT_EQ(Formula(R"(E = \frac{1.5}{2} = 75 %)").text(), "E = 1.5 / 2 = 75 %");
}

TEST(Formula, IsLatexThatNotebooksRead) {
  EXPECT_EQ(Formula(kRing).latex(),
            R"(T=2(n-1)\alpha +\frac{2(n-1)}{n}\cdot \frac{M}{B}=1{,}234.5\,\text{us}=-3)");
  // A percent sign would begin a comment, and _ is an error in \text.
  EXPECT_EQ(Formula(R"(x_i^2 = 75 %)").latex(), R"(x_{i}^{2}=75\,\%)");
  EXPECT_EQ(Formula(R"(\text{efficientnet_b0})").latex(), R"(\text{efficientnet}\_\text{b0})");
  EXPECT_EQ(Formula("1.5e-05").latex(), R"(1.5 \times 10^{-5})");
}

TEST(Formula, IsMathMl) {
  EXPECT_EQ(Formula(R"(\frac{a_1}{2} < 3)").mathml(),
            "<math display=\"block\"><mrow><mfrac><msub><mi>a</mi><mrow><mn>1</mn></mrow></msub>"
            "<mrow><mn>2</mn></mrow></mfrac><mo>&lt;</mo><mn>3</mn></mrow></math>");
  // A fraction beside them does not stretch the parentheses of l(k).
  EXPECT_NE(
      Formula(R"(l(k) = \frac{1}{k})").mathml().find("<mo stretchy=\"false\">(</mo><mi>k</mi>"),
      std::string::npos);
  EXPECT_NE(Formula(R"(q = (\frac{w}{s}))").mathml().find("<mo>(</mo><mfrac>"), std::string::npos);
  EXPECT_NE(Formula(R"(q = (\frac{w}{s}))").mathml().find("</mfrac><mo>)</mo>"), std::string::npos);
  EXPECT_EQ(Formula("a = -3").mathml(),
            "<math display=\"block\"><mrow><mi>a</mi><mo>=</mo><mo form=\"prefix\">−</mo><mn>3</mn>"
            "</mrow></math>");
}

TEST(Formula, SaysWhereASourceIsWrong) {
  for (const char* source :
       {R"(\frac{1})", "a}", "{a", R"(\unknown)", "_a", "a_1_2", R"(\text{a)"}) {
    try {
      const Formula formula(source);
      ADD_FAILURE() << source;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(", character "), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace trainyard::report
