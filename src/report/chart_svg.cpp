// Charts as pictures that stand alone: for notebooks, Git hosts and wherever scripts do not run.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/chart.h"
#include "report/chart_scale.h"
#include "report/html.h"
#include "report/table.h"

namespace trainyard::report {
namespace {

// The colors of report.css on white.
constexpr std::array<std::string_view, 12> kColors = {"#2f62c9", "#e0752d", "#1f9467", "#b83f6f",
                                                      "#7652c4", "#84860d", "#1793a5", "#97602b",
                                                      "#c22f2f", "#4d7326", "#a63cbd", "#48566b"};
constexpr std::string_view kIdealColor = "#8a8f98";
constexpr std::string_view kInk = "#22262c";
constexpr std::string_view kSoft = "#5c636e";
constexpr std::string_view kRule = "#e3e6ea";
constexpr double kWidth = 720;
constexpr double kTop = 52;
constexpr double kRight = 24;       // half of a label as "5.00M" and a little
constexpr double kCharacter = 6.3;  // mean width of one at 12 pixels

struct Frame {
  double left = 64;
  double top = kTop;
  double width = 0;
  double height = 300;

  double x(double place) const { return left + place * width; }
  double y(double place) const { return top + (1 - place) * height; }
};

std::string shortened(const std::string& text, size_t most) {
  return width_of(text) <= most ? text : text.substr(0, byte_after(text, most - 1)) + "…";
}

std::string text_at(double x, double y, std::string_view anchor, const std::string& text,
                    std::string_view color = kSoft) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n",
                     x, y, anchor, color, html_escaped(text));
}

std::string line_at(double x0, double y0, double x1, double y1, std::string_view color) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x0, y0, x1,
      y1, color);
}

// With the exact numbers as what a pointer shows.
std::string rect_at(double x, double y, double width, double height, std::string_view look,
                    const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}><title>{}</title>"
      "</rect>\n",
      x, y, std::max(width, 0.5), std::max(height, 0.5), look, html_escaped(title));
}

// Draws into `out_` from top to bottom; the height is known only at the end, so the head is written
// last.
class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) { choose_colors(); }

  std::string draw() {
    switch (chart_.kind) {
      case ChartKind::kLine:
      case ChartKind::kScatter:
        plot();
        break;
      case ChartKind::kBar:
      case ChartKind::kStackedBar:
        bars();
        break;
      case ChartKind::kHistogram:
        histogram();
        break;
      case ChartKind::kHeatMap:
        heat_map();
        break;
      case ChartKind::kTimeline:
        timeline();
        break;
    }
    legend();
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
               "width=\"{0:.0f}\" height=\"{1:.0f}\" style=\"max-width:100%;height:auto\" "
               "font-family=\"sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"{2}\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
               kWidth, bottom_, html_escaped(chart_.title)) +
           text_at(12, 20, "start", shortened(chart_.title, 100), kInk) + out_ + "</svg>\n";
  }

 private:
  // Series of one group share a color; what is ideal is gray, as in pages.
  void choose_colors() {
    std::vector<std::string> groups;
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      const Series& series = chart_.series[i];
      if (series.origin == Origin::kIdeal) {
        colors_.push_back(kIdealColor);
        continue;
      }
      // A name that no group can have, as series without a group stand alone.
      const std::string group = series.group.empty() ? fmt::format("\n{}", i) : series.group;
      const auto found = std::find(groups.begin(), groups.end(), group);
      colors_.push_back(kColors[static_cast<size_t>(found - groups.begin()) % kColors.size()]);
      if (found == groups.end()) groups.push_back(group);
    }
  }

  static std::string_view dashes(const Series& series) {
    if (series.dashed) return "7 4";
    switch (series.origin) {
      case Origin::kPredicted:
        return "7 4";
      case Origin::kPublished:
        return "2 3";
      case Origin::kIdeal:
        return "3 4";
      case Origin::kExtrapolated:
        return "2 5";
      case Origin::kPlain:
      case Origin::kMeasured:
        return "";
    }
    return "";
  }

  // Filled if measured, an outline otherwise: as in pages, what was not measured looks unlike.
  std::string look_of(size_t series) const {
    const std::string_view dash = dashes(chart_.series[series]);
    return dash.empty() ? fmt::format("fill=\"{}\"", colors_[series])
                        : fmt::format(
                              "fill=\"{0}\" fill-opacity=\"0.15\" stroke=\"{0}\" "
                              "stroke-dasharray=\"{1}\"",
                              colors_[series], dash);
  }

  // Left margin and height of the plot; the rest follows. Must come before anything is drawn.
  void begin(double left, double height) {
    frame_.left = left;
    frame_.height = height;
    frame_.width = kWidth - left - kRight;
    bottom_ = kTop + height + 40;
  }

  void y_axis(const Scale& scale, const std::vector<double>& ticks) {
    for (const double tick : ticks) {
      const double y = frame_.y(scale.place(tick));
      out_ += line_at(frame_.left, y, frame_.left + frame_.width, y, kRule);
      out_ += text_at(frame_.left - 6, y + 4, "end", tick_label(tick));
    }
    out_ += text_at(12, kTop - 14, "start", chart_.y.name);
  }

  void x_name() {
    out_ += text_at(frame_.left + frame_.width / 2, frame_.top + frame_.height + 34, "middle",
                    chart_.x.name);
  }

  // Left out where one would touch the one before.
  void x_labels(const std::vector<std::pair<double, std::string>>& labels) {
    double free_from = 0;
    for (const auto& [x, label] : labels) {
      const double half = static_cast<double>(label.size()) * kCharacter / 2;
      if (x - half < free_from) continue;
      out_ += text_at(x, frame_.top + frame_.height + 17, "middle", label);
      free_from = x + half + kCharacter;
    }
    x_name();
  }

  void plot() {
    const auto ends = [](double ChartPoint::*field) {
      return [field](const ChartPoint& p) { return p.*field; };
    };
    Scale x(chart_values(chart_, ends(&ChartPoint::x)), chart_.x.log, false);
    std::vector<double> heights = chart_values(chart_, ends(&ChartPoint::y));
    // Error bars may reach beyond the points.
    for (const auto field : {&ChartPoint::low, &ChartPoint::high}) {
      const std::vector<double> more = chart_values(chart_, ends(field));
      heights.insert(heights.end(), more.begin(), more.end());
    }
    Scale y(std::move(heights), chart_.y.log, true);
    begin(64, 300);
    y_axis(y, y.round_ticks());
    std::vector<std::pair<double, std::string>> labels;
    if (chart_.x.categories.empty()) {
      for (const double tick : x.round_ticks()) {
        labels.emplace_back(frame_.x(x.place(tick)), tick_label(tick));
      }
    } else {
      for (size_t i = 0; i < chart_.x.categories.size(); ++i) {
        labels.emplace_back(frame_.x(x.place(static_cast<double>(i))), chart_.x.categories[i]);
      }
    }
    x_labels(labels);
    for (size_t s = 0; s < chart_.series.size(); ++s) curve(s, x, y);
  }

  void curve(size_t s, const Scale& x, const Scale& y) {
    const Series& series = chart_.series[s];
    std::string path;
    std::string marks;
    constexpr size_t kMostMarked = 60;
    for (const ChartPoint& p : series.points) {
      // A log scale shows nothing at or below 0.
      if (!x.shows(p.x) || !y.shows(p.y)) continue;
      const double px = frame_.x(x.place(p.x));
      const double py = frame_.y(y.place(p.y));
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px, py);
      if (y.shows(p.low) && y.shows(p.high)) {
        marks += line_at(px, frame_.y(y.place(p.low)), px, frame_.y(y.place(p.high)), colors_[s]);
      }
      // Marks on many points would hide the line.
      if (chart_.kind == ChartKind::kLine && series.points.size() > kMostMarked) continue;
      marks += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" {}><title>{}</title></circle>\n", px, py,
          look_of(s),
          html_escaped(fmt::format("{} {}: {}{}", series.name, tick_label(p.x), tick_label(p.y),
                                   p.label.empty() ? "" : " (" + p.label + ")")));
    }
    if (chart_.kind == ChartKind::kLine && !path.empty()) {
      out_ += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
          "stroke-dasharray=\"{}\"/>\n",
          path, colors_[s], dashes(series));
    }
    out_ += marks;
  }

  void bars() {
    const bool stacked = chart_.kind == ChartKind::kStackedBar;
    const size_t categories = chart_.x.categories.size();
    // For the scale first, then again while drawing.
    std::vector<double> tops(categories, 0);
    std::vector<double> values = {0};
    for (const Series& series : chart_.series) {
      for (const ChartPoint& p : series.points) {
        const auto c = static_cast<size_t>(p.x);
        if (c >= categories || !std::isfinite(p.y)) continue;
        tops[c] += p.y;
        values.push_back(stacked ? tops[c] : p.y);
      }
    }
    Scale y(std::move(values), chart_.y.log && !stacked, true);
    begin(64, 300);
    y_axis(y, y.round_ticks());
    const double slot = frame_.width / std::max<double>(1, static_cast<double>(categories));
    const auto most =
        static_cast<size_t>(std::max(4.0, slot * 1.6 / kCharacter));  // labels may overlap a little
    std::vector<std::pair<double, std::string>> labels;
    for (size_t c = 0; c < categories; ++c) {
      labels.emplace_back(frame_.left + slot * (static_cast<double>(c) + 0.5),
                          shortened(chart_.x.categories[c], most));
    }
    x_labels(labels);
    std::fill(tops.begin(), tops.end(), 0);
    const double share = stacked ? 1 : static_cast<double>(chart_.series.size());
    const double bar = slot * 0.8 / std::max(1.0, share);
    for (size_t s = 0; s < chart_.series.size(); ++s) {
      for (const ChartPoint& p : chart_.series[s].points) {
        const auto c = static_cast<size_t>(p.x);
        if (c >= categories || !y.shows(p.y)) continue;
        const double below = stacked ? tops[c] : 0;
        tops[c] += p.y;
        // Bars begin at 0, which a log scale does not have: at its lower end there.
        const double from = y.shows(below) ? frame_.y(y.place(below)) : frame_.y(0);
        const double to = frame_.y(y.place(stacked ? below + p.y : p.y));
        const double x = frame_.left + slot * (static_cast<double>(c) + 0.1) +
                         (stacked ? 0 : bar * static_cast<double>(s));
        out_ += rect_at(x, std::min(from, to), bar - 1, std::fabs(from - to), look_of(s),
                        fmt::format("{} {}: {}", chart_.series[s].name, chart_.x.categories[c],
                                    tick_label(p.y)));
      }
    }
  }

  void histogram() {
    std::vector<double> edges = chart_values(chart_, [](const ChartPoint& p) { return p.low; });
    const std::vector<double> highs =
        chart_values(chart_, [](const ChartPoint& p) { return p.high; });
    edges.insert(edges.end(), highs.begin(), highs.end());
    Scale x(std::move(edges), false, false);
    std::vector<double> counts = chart_values(chart_, [](const ChartPoint& p) { return p.y; });
    // Bars stand on 0.
    if (!chart_.y.log) counts.push_back(0);
    Scale y(std::move(counts), chart_.y.log, true);
    begin(64, 300);
    y_axis(y, y.round_ticks());
    std::vector<std::pair<double, std::string>> labels;
    for (const double tick : x.round_ticks()) {
      labels.emplace_back(frame_.x(x.place(tick)), tick_label(tick));
    }
    x_labels(labels);
    for (size_t s = 0; s < chart_.series.size(); ++s) {
      const std::string look = fmt::format("fill=\"{}\" fill-opacity=\"{}\"", colors_[s],
                                           chart_.series.size() > 1 ? 0.5 : 0.9);
      for (const ChartPoint& p : chart_.series[s].points) {
        if (!y.shows(p.y)) continue;
        const double left = frame_.x(x.place(p.low));
        const double top = frame_.y(y.place(p.y));
        out_ += rect_at(
            left, top, frame_.x(x.place(p.high)) - left - 0.5, frame_.y(0) - top, look,
            fmt::format("{} to {}: {}", tick_label(p.low), tick_label(p.high), tick_label(p.y)));
      }
    }
  }

  double label_room(const std::vector<std::string>& names) const {
    size_t longest = 4;
    for (const std::string& name : names) longest = std::max(longest, name.size());
    return std::min(220.0, 24 + static_cast<double>(longest) * kCharacter);
  }

  void heat_map() {
    const Scale scale(chart_values(chart_, [](const ChartPoint& p) { return p.value; }), false,
                      false);
    const double rows = std::max<double>(1, static_cast<double>(chart_.y.categories.size()));
    const double columns = std::max<double>(1, static_cast<double>(chart_.x.categories.size()));
    begin(label_room(chart_.y.categories), std::clamp(rows * 30, 60.0, 480.0));
    const double width = frame_.width / columns;
    const double height = frame_.height / rows;
    for (const Series& series : chart_.series) {
      for (const ChartPoint& p : series.points) {
        if (!std::isfinite(p.value)) continue;
        const double x = frame_.left + p.x * width;
        const double y = frame_.top + p.y * height;
        const double shade = scale.place(p.value);
        out_ += rect_at(
            x, y, width - 1, height - 1,
            fmt::format("fill=\"{}\" fill-opacity=\"{:.3f}\"", kColors[0], 0.06 + 0.94 * shade),
            tick_label(p.value));
        // Numbers only where they fit.
        if (width > 34 && height > 14) {
          out_ += text_at(x + width / 2, y + height / 2 + 4, "middle", tick_label(p.value),
                          shade > 0.55 ? "#fff" : kInk);
        }
      }
    }
    for (size_t row = 0; row < chart_.y.categories.size(); ++row) {
      out_ += text_at(frame_.left - 6, frame_.top + height * (static_cast<double>(row) + 0.5) + 4,
                      "end", shortened(chart_.y.categories[row], 32));
    }
    std::vector<std::pair<double, std::string>> labels;
    for (size_t i = 0; i < chart_.x.categories.size(); ++i) {
      labels.emplace_back(frame_.left + width * (static_cast<double>(i) + 0.5),
                          chart_.x.categories[i]);
    }
    x_labels(labels);
  }

  void timeline() {
    std::vector<double> ends = chart_values(chart_, [](const ChartPoint& p) { return p.high; });
    ends.push_back(0);
    Scale x(std::move(ends), false, false);
    const double lanes = std::max<double>(1, static_cast<double>(chart_.y.categories.size()));
    begin(label_room(chart_.y.categories), std::clamp(lanes * 28, 56.0, 560.0));
    const double height = frame_.height / lanes;
    std::vector<std::pair<double, std::string>> labels;
    for (const double tick : x.round_ticks()) {
      const double at = frame_.x(x.place(tick));
      out_ += line_at(at, frame_.top, at, frame_.top + frame_.height, kRule);
      labels.emplace_back(at, tick_label(tick));
    }
    x_labels(labels);
    for (size_t s = 0; s < chart_.series.size(); ++s) {
      const bool outlined = !dashes(chart_.series[s]).empty();
      const std::string look = look_of(s) + (outlined ? "" : " stroke=\"#fff\"");
      for (const ChartPoint& p : chart_.series[s].points) {
        const double left = frame_.x(x.place(p.low));
        out_ += rect_at(left, frame_.top + p.y * height + 3, frame_.x(x.place(p.high)) - left,
                        height - 6, look,
                        fmt::format("{} {}: {} to {}", chart_.series[s].name, p.label,
                                    tick_label(p.low), tick_label(p.high)));
      }
    }
    for (size_t lane = 0; lane < chart_.y.categories.size(); ++lane) {
      out_ += text_at(frame_.left - 6, frame_.top + height * (static_cast<double>(lane) + 0.5) + 4,
                      "end", shortened(chart_.y.categories[lane], 32));
    }
  }

  // Under the axis, as many to a line as fit; origins in brackets.
  void legend() {
    if (chart_.kind == ChartKind::kHeatMap) return;
    if (chart_.series.size() == 1 && chart_.series[0].name.empty()) return;
    double x = frame_.left;
    double y = bottom_ + 14;
    for (size_t s = 0; s < chart_.series.size(); ++s) {
      const Series& series = chart_.series[s];
      // Where a number comes from, unless the name says so.
      std::string name = series.name;
      const std::string_view origin = origin_name(series.origin);
      if (series.origin != Origin::kPlain && name.find(origin) == std::string::npos) {
        name += fmt::format(" ({})", origin);
      }
      const double width = 30 + static_cast<double>(name.size()) * kCharacter;
      if (x > frame_.left && x + width > kWidth) {
        x = frame_.left;
        y += 18;
      }
      out_ += rect_at(x, y - 9, 12, 10, look_of(s), name);
      out_ += text_at(x + 18, y, "start", name);
      x += width;
    }
    bottom_ = y + 12;
  }

  const Chart& chart_;
  Frame frame_;
  double bottom_ = 0;
  std::vector<std::string_view> colors_;
  std::string out_;
};

}  // namespace

std::string chart_svg(const Chart& chart) {
  return Drawing(chart).draw();
}

}  // namespace trainyard::report
