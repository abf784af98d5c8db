#include "report/html.h"

#include <algorithm>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/machine_facts.h"
#include "base/text.h"

namespace trainyard::report {
namespace {

// Width and height stand in the first chunk of every PNG file.
std::pair<uint32_t, uint32_t> png_size(std::string_view png) {
  constexpr size_t kWidthAt = 16;
  TY_CHECK(png.size() >= kWidthAt + 8 && png.substr(1, 3) == "PNG", "a picture is no PNG file");
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<uint8_t>(png[at + i]);
    return value;
  };
  return {number(kWidthAt), number(kWidthAt + 4)};
}

// The number keeps equal headings apart.
std::string anchor(std::string_view heading, size_t number) {
  std::string out;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  return fmt::format("s{}-{}", number, out);
}

// Turns blocks into the body; charts are collected for the script.
class Body {
 public:
  explicit Body(HeatMaps heat_maps) : heat_maps_(heat_maps) {}

  void operator()(const Heading& heading) {
    const std::string id = anchor(heading.text, headings_.size() + 1);
    headings_.emplace_back(id, heading.text);
    out_ += fmt::format("<h2 id=\"{}\">{}</h2>\n", id, marked_html(heading.text));
  }

  void operator()(const Paragraph& paragraph) {
    switch (paragraph.tone) {
      case Tone::kCode:
        out_ += "<pre tabindex=\"0\">" + html_escaped(paragraph.text) + "</pre>\n";
        return;
      case Tone::kAnswer:
        out_ += "<div class=\"answer\"><p>" + marked_html(paragraph.text) + "</p></div>\n";
        return;
      case Tone::kNotice:
        out_ += "<p class=\"notice\">" + marked_html(paragraph.text) + "</p>\n";
        return;
      case Tone::kWhy:
        out_ += "<aside class=\"why\"><p><strong>Why:</strong> " + marked_html(paragraph.text) +
                "</p></aside>\n";
        return;
      case Tone::kQuestion:
        out_ += "<p class=\"question\">" + marked_html(paragraph.text) + "</p>\n";
        return;
      case Tone::kPlain:
        out_ += "<p>" + marked_html(paragraph.text) + "</p>\n";
    }
  }

  void operator()(const Formula& formula) {
    out_ += "<div class=\"formula\" tabindex=\"0\">" + formula.mathml() + "</div>\n";
  }

  void operator()(const Table& table) {
    out_ += "<div class=\"table\">\n" + table.to_html("") + "</div>\n";
  }

  // The table of its data always follows: without the script it is all there is, and screen readers
  // cannot read a drawing.
  void operator()(const Chart& chart) {
    if (chart.kind == ChartKind::kHeatMap && heat_maps_ == HeatMaps::kPictures) {
      picture_of(chart);
      return;
    }
    const size_t index = charts_.items().size();
    const bool drawn = !web_script().empty();
    out_ += fmt::format("<figure class=\"chart\" id=\"chart-{0}\" data-chart=\"{0}\">\n", index);
    out_ += fmt::format("<figcaption>{}</figcaption>\n", marked_html(chart.title));
    if (drawn) {
      out_ += fmt::format(
          "<div class=\"plot {0}\" role=\"img\" tabindex=\"0\" aria-label=\"{0} chart: {1}. Left "
          "and right arrow keys move through the values; the data follow as a table.\"></div>\n",
          chart_kind_name(chart.kind), html_escaped(chart.title));
    }
    if (!chart.caption.empty()) {
      out_ += "<p class=\"caption\">" + marked_html(chart.caption) + "</p>\n";
    }
    out_ += fmt::format("<details class=\"data\"{}><summary>Data</summary>\n{}</details>\n",
                        drawn ? "" : " open", chart_table(chart).to_html(chart.title));
    out_ += "</figure>\n";
    charts_.push_back(chart_json(chart));
    has_heat_map_ = has_heat_map_ || chart.kind == ChartKind::kHeatMap;
  }

  void operator()(const Picture& picture) {
    const auto [width, height] = png_size(picture.png);
    out_ += fmt::format(
        "<figure class=\"picture\"><div class=\"frame\"><img alt=\"{}\" width=\"{}\" "
        "height=\"{}\" src=\"data:image/png;base64,{}\">",
        html_escaped(picture.caption), width, height, to_base64(picture.png));
    if (!picture.boxes.empty()) {
      out_ += fmt::format("<svg viewBox=\"0 0 {} {}\" aria-hidden=\"true\">", width, height);
      for (const Box& box : picture.boxes) {
        out_ += fmt::format(
            "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\"/><text x=\"{0}\" y=\"{1}\" "
            "dy=\"-0.3em\">{4}</text>",
            box.left, box.top, box.width, box.height, html_escaped(box.label));
      }
      out_ += "</svg>";
    }
    out_ += "</div><figcaption>" + marked_html(picture.caption) + "</figcaption></figure>\n";
  }

  void operator()(const Listing& listing) {
    out_ += fmt::format("<figure class=\"listing\"><figcaption>{}</figcaption><div>\n",
                        marked_html(listing.title));
    for (const ListingColumn& column : listing.columns) {
      out_ += fmt::format("<section><h3>{}</h3><pre tabindex=\"0\">", html_escaped(column.title));
      for (const ListingLine& line : column.lines) {
        out_ += line.mark.empty() ? fmt::format("<span>{}</span>\n", html_escaped(line.text))
                                  : fmt::format("<span class=\"mark-{}\" title=\"{}\">{}</span>\n",
                                                color_of(line.mark), html_escaped(line.mark),
                                                html_escaped(line.text));
      }
      out_ += "</pre></section>\n";
    }
    out_ += "</div></figure>\n";
  }

  void operator()(const Provenance& provenance) {
    (*this)(Heading{"How this was made"});
    if (!provenance.command.empty()) {
      out_ += "<pre class=\"command\" tabindex=\"0\">$ " + html_escaped(provenance.command) +
              "</pre>\n";
    }
    facts("Settings", provenance.configuration);
    facts("Machine", provenance.machine);
  }

  void item(std::string_view text) { out_ += "<li>" + marked_html(text) + "</li>\n"; }
  void open_list() { out_ += "<ul>\n"; }
  void close_list() { out_ += "</ul>\n"; }

  const std::string& html() const { return out_; }
  const Json& charts() const { return charts_; }
  bool has_heat_map() const { return has_heat_map_; }
  const std::vector<std::pair<std::string, std::string>>& headings() const { return headings_; }

 private:
  void picture_of(const Chart& chart) {
    out_ += fmt::format("<figure class=\"chart\">\n<figcaption>{}</figcaption>\n{}",
                        marked_html(chart.title), chart_svg(chart));
    if (!chart.caption.empty()) {
      out_ += "<p class=\"caption\">" + marked_html(chart.caption) + "</p>\n";
    }
    out_ += "</figure>\n";
  }

  // Marks take the colors of the style sheet in the order in which they are met.
  size_t color_of(const std::string& mark) {
    constexpr size_t kMarkColors = 24;
    const auto found = std::find(marks_.begin(), marks_.end(), mark);
    const auto index = static_cast<size_t>(found - marks_.begin());
    if (found == marks_.end()) marks_.push_back(mark);
    return index % kMarkColors;
  }

  void facts(std::string_view what, const Json& object) {
    const auto all = facts_of(object);
    if (all.empty()) return;
    out_ += fmt::format("<details class=\"facts\" open><summary>{}</summary><dl>\n", what);
    for (const auto& [key, value] : all) {
      out_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(key),
                          html_escaped(value));
    }
    out_ += "</dl></details>\n";
  }

  HeatMaps heat_maps_;
  std::string out_;
  Json charts_ = Json::array();
  bool has_heat_map_ = false;
  std::vector<std::pair<std::string, std::string>> headings_;
  std::vector<std::string> marks_;
};

void add_blocks(std::span<const Block> blocks, Body& body) {
  bool in_list = false;
  for (const Block& block : blocks) {
    const auto* paragraph = std::get_if<Paragraph>(&block);
    const std::vector<std::string> items =
        paragraph == nullptr ? std::vector<std::string>() : list_items(paragraph->text);
    if (!items.empty() && !in_list) body.open_list();
    if (items.empty() && in_list) body.close_list();
    in_list = !items.empty();
    for (const std::string& item : items) body.item(item);
    if (!in_list) std::visit(body, block);
  }
  if (in_list) body.close_list();
}

// No "<" in the data: "</script>" would end the script, and "<!--<script>" would keep it from
// ending.
std::string in_script(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// A table of contents pays only where there is something to jump to.
std::string contents(const Body& body) {
  constexpr size_t kFewest = 3;
  if (body.headings().size() < kFewest) return "";
  std::string out = "<nav class=\"contents\" aria-label=\"Contents\"><ol>\n";
  for (const auto& [id, text] : body.headings()) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, marked_html(text));
  }
  return out + "</ol></nav>\n";
}

}  // namespace

std::string html_page(const Document& document, const std::string& command, HeatMaps heat_maps) {
  std::span<const Block> blocks = document.blocks;
  std::string title = document.title;
  if (title.empty() && !blocks.empty()) {
    if (const auto* heading = std::get_if<Heading>(&blocks[0])) {
      title = heading->text;
      blocks = blocks.subspan(1);
    }
  }
  // "trainyard staleness" of a longer command.
  if (title.empty()) title = command.substr(0, command.find(' ', command.find(' ') + 1));
  if (title.empty()) title = "Report";
  Body body(heat_maps);
  add_blocks(blocks, body);
  const bool has_own = std::any_of(blocks.begin(), blocks.end(), [](const Block& block) {
    return std::holds_alternative<Provenance>(block);
  });
  if (!has_own) body(Provenance{.command = command, .machine = machine_facts()});
  const bool plain = web_script().empty() && !body.charts().items().empty();

  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"trainyard\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n",
      html_escaped(title));
  out += web_style();
  out += fmt::format(
      "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
      "<header class=\"top\"><span class=\"brand\">trainyard</span><span class=\"tools\"></span>"
      "</header>\n<div class=\"layout\">\n{}<main id=\"content\">\n<h1>{}</h1>\n",
      contents(body), marked_html(title));
  if (!document.lead.empty()) out += "<p class=\"lead\">" + marked_html(document.lead) + "</p>\n";
  if (plain) {
    out +=
        "<p class=\"notice\">This program was built without Node, so charts are shown as tables. "
        "Install nodejs and npm and build again to have them drawn.</p>\n";
  }
  out += body.html() + "</main>\n</div>\n";
  if (!web_script().empty()) {
    out += "<script type=\"application/json\" id=\"charts\">" + in_script(body.charts().dump(-1)) +
           "</script>\n<script id=\"drawing\">\n";
    out += body.has_heat_map() ? web_script() : web_basic_script();
    out += "</script>\n";
  }
  return out + "</body>\n</html>\n";
}

}  // namespace trainyard::report
