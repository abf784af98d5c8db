// labs/prelude.jq writes numbers as base/text.h does.
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"
#include "program/lab/query.h"

namespace trainyard::lab {
namespace {

// Where a unit or the number of digits changes, next to that, halves, and numbers of every size.
std::vector<double> telling_numbers() {
  std::vector<double> numbers = {0, 0.125, 0.375, 1.005, 2.675, 0.145, 99.5, 59.5, 119.996};
  for (const double edge : {1e-3, 0.9995, 1.0, 9.995, 99.95, 119.5, 120.0, 999.5, 1000.0, 1024.0,
                            3599.5, 7199.5, 7200.0, 999500.0, 1e6, 1048576.0, 1e9, 1e12, 1e15}) {
    for (const double next : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, 1e300)}) {
      numbers.push_back(next);
    }
  }
  const RandomStream random(7);
  for (uint64_t i = 0; i < 600; ++i) {
    numbers.push_back(std::pow(10.0, -7.0 + 23.0 * random.uniform(2 * i)));
    // Halves in decimal, which lie on either side of one in binary: 2.95 above, 2.85 below.
    numbers.push_back(static_cast<double>(2 * i + 1) / 20.0);
    // Many of these lie on a half.
    numbers.push_back(std::floor(4000.0 * random.uniform(2 * i + 1)) / 8.0);
  }
  return numbers;
}

// Each number through a function of the prelude, in one query.
void expect_equal(const std::string& function, const std::vector<double>& numbers,
                  const std::function<std::string(double)>& text) {
  Json input = Json::array();
  for (const double number : numbers) input.push_back(number);
  const Json answers = ask(fmt::format("map({})", function), input, function);
  ASSERT_EQ(answers.items().size(), numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(answers.items()[i].as_string(), text(numbers[i]))
        << fmt::format("{} of {:.17g}", function, numbers[i]);
  }
}

TEST(Prelude, WritesNumbersAsTheProgramDoes) {
  std::vector<double> numbers = telling_numbers();
  expect_equal("seconds_text", numbers, seconds_text);
  for (size_t i = 0, positive = numbers.size(); i < positive; ++i) numbers.push_back(-numbers[i]);
  expect_equal("si", numbers, si);
  expect_equal("bytes_text", numbers, bytes_text);
}

TEST(Prelude, RoundsWhatANumberIsAndNotHowItIsWritten) {
  for (const auto& [number, text] :
       {std::pair{2.95, "3.0"}, {2.85, "2.9"}, {2.9499999999999997, "2.9"}, {2.25, "2.2"}}) {
    EXPECT_EQ(ask("fixed(1)", Json(number), "x").as_string(), text);
    EXPECT_EQ(fixed_text(number, 1), text);
  }
}

TEST(Prelude, RoundsAsTheProgramDoes) {
  // With four digits behind the point, larger ones have more than a number holds.
  std::vector<double> numbers = telling_numbers();
  std::erase_if(numbers, [](double number) { return number >= 1e10; });
  for (size_t i = 0, positive = numbers.size(); i < positive; ++i) numbers.push_back(-numbers[i]);
  for (const int digits : {0, 1, 2, 4}) {
    expect_equal(fmt::format("fixed({})", digits), numbers,
                 [&](double number) { return fixed_text(number, digits); });
  }
  expect_equal("percent(1)", numbers,
               [](double number) { return fixed_text(100 * number, 1) + " %"; });
  for (double& number : numbers) number = std::round(number);
  expect_equal("commas", numbers,
               [](double number) { return with_commas(static_cast<int64_t>(number)); });
}

}  // namespace
}  // namespace trainyard::lab
