#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/random.h"
#include "base/text.h"
#include "studies/search/search.h"

namespace trainyard::recipes {
namespace {

double end_of_range(const std::string& text, std::string_view part) {
  const auto number = parse_number<double>(text);
  TY_REQUIRE(number && std::isfinite(*number), "space: '{}' in '{}' is no number", text, part);
  return *number;
}

void parse_range(std::string_view text, std::string_view part, Dimension& dimension) {
  constexpr std::string_view kLog = "log:";
  dimension.log = text.starts_with(kLog);
  if (dimension.log) text.remove_prefix(kLog.size());
  const size_t dots = text.find("..");
  TY_REQUIRE(dots != std::string_view::npos,
             "space: '{}' has neither a range LOW..HIGH nor choices A|B", part);
  dimension.low = end_of_range(std::string(text.substr(0, dots)), part);
  dimension.high = end_of_range(std::string(text.substr(dots + 2)), part);
  TY_REQUIRE(dimension.low < dimension.high, "space: '{}' is a range that ends before it begins",
             part);
  TY_REQUIRE(!dimension.log || dimension.low > 0,
             "space: '{}' is drawn by ratios, so it begins above 0", part);
}

Dimension parse_dimension(const std::string& part, const Settings& settings) {
  const size_t equals = part.find('=');
  TY_REQUIRE(equals != std::string::npos && equals > 0,
             "space: '{}' is not NAME=VALUES, such as learning-rate=log:1e-4..1e-1", part);
  Dimension dimension{.setting = setting_of_flag(part.substr(0, equals))};
  std::vector<std::string> names;
  const Settings::Setting* known = nullptr;
  for (const Settings::Setting& setting : settings.all()) {
    if (setting.name == dimension.setting) known = &setting;
    names.push_back(flag_of_setting(setting.name));
  }
  TY_REQUIRE(known != nullptr, "space: there is no setting '{}' of train.{}",
             part.substr(0, equals), did_you_mean(part.substr(0, equals), names));
  const std::string values = part.substr(equals + 1);
  dimension.whole = std::holds_alternative<int64_t*>(known->variable);
  if (values.find('|') != std::string::npos || values.find("..") == std::string::npos) {
    dimension.choices = split(values, '|');
  } else {
    TY_REQUIRE(dimension.whole || std::holds_alternative<double*>(known->variable),
               "space: '{}' is no number, so it has choices A|B and no range",
               flag_of_setting(dimension.setting));
    parse_range(values, part, dimension);
  }
  return dimension;
}

}  // namespace

std::string Dimension::at(double share) const {
  if (!choices.empty()) {
    const auto count = static_cast<double>(choices.size());
    return choices[static_cast<size_t>(std::min(count - 1, std::floor(share * count)))];
  }
  const double value = log ? low * std::pow(high / low, share) : low + (high - low) * share;
  if (whole) return fmt::format("{}", std::llround(value));
  // Six digits read well and are near enough.
  return fmt::format("{:.6g}", value);
}

double Dimension::share_of(const std::string& value) const {
  if (!choices.empty()) {
    const auto found = std::find(choices.begin(), choices.end(), value) - choices.begin();
    return choices.size() == 1
               ? 0.5
               : static_cast<double>(found) / static_cast<double>(choices.size() - 1);
  }
  const double number = parse_number<double>(value).value_or(low);
  const double share =
      log ? std::log(number / low) / std::log(high / low) : (number - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

std::vector<Dimension> parse_space(std::string_view text) {
  train::TrainConfig config;
  const Settings settings = train::settings_of(config);
  std::vector<Dimension> space;
  for (const std::string& part : split(text, ',')) {
    space.push_back(parse_dimension(part, settings));
    const std::string& name = space.back().setting;
    const auto same = std::count_if(space.begin(), space.end(),
                                    [&](const Dimension& d) { return d.setting == name; });
    TY_REQUIRE(same == 1, "space: '{}' is there twice", flag_of_setting(name));
    TY_REQUIRE(name != "epochs" && name != "stop_epoch",
               "space: {} decides how long trials are; give it as a flag", flag_of_setting(name));
  }
  return space;
}

Point draw_point(const std::vector<Dimension>& space, uint64_t seed, int64_t trial) {
  const RandomStream random(seed, mix_bits(hash_text("trial") + static_cast<uint64_t>(trial)));
  Point point;
  for (size_t i = 0; i < space.size(); ++i) point.push_back(space[i].at(random.uniform(i)));
  return point;
}

std::vector<Point> grid_of(const std::vector<Dimension>& space, int64_t values, int64_t most) {
  std::vector<Point> points = {{}};
  for (const Dimension& dimension : space) {
    std::vector<std::string> own = dimension.choices;
    for (int64_t i = 0; dimension.choices.empty() && i < values; ++i) {
      const double share =
          values == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(values - 1);
      const std::string value = dimension.at(share);
      if (own.empty() || own.back() != value) own.push_back(value);
    }
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (const std::string& value : own) {
        longer.push_back(point);
        longer.back().push_back(value);
        TY_REQUIRE(static_cast<int64_t>(longer.size()) <= most,
                   "the grid has more points than the {} trials; raise the trials, or give fewer "
                   "values",
                   most);
      }
    }
    points = std::move(longer);
  }
  return points;
}

train::TrainConfig with_point(const train::TrainConfig& config, const std::vector<Dimension>& space,
                              const Point& point) {
  train::TrainConfig result = config;
  const Settings settings = train::settings_of(result);
  for (size_t i = 0; i < space.size(); ++i) {
    for (const Settings::Setting& setting : settings.all()) {
      if (setting.name != space[i].setting) continue;
      if (auto* const* text = std::get_if<std::string*>(&setting.variable)) {
        **text = point[i];
        continue;
      }
      train::settings_of(result).read_yaml(fmt::format("{}: {}", setting.name, point[i]),
                                           "the search space");
    }
  }
  train::check(result);
  return result;
}

}  // namespace trainyard::recipes
