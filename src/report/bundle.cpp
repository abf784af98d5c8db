// A document for programs that show it themselves (notebooks): its data, its blocks in the forms
// that such a program may choose from, and the page, all of one run.
#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/printable.h"
#include "report/document.h"
#include "report/html.h"

namespace trainyard::report {
namespace {

std::string_view tone_name(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "text";
    case Tone::kAnswer:
      return "answer";
    case Tone::kCode:
      return "code";
    case Tone::kNotice:
      return "notice";
    case Tone::kWhy:
      return "why";
    case Tone::kQuestion:
      return "question";
  }
  return "";
}

// As an image: hosts of notebooks take inline <svg> out.
std::string image(std::string_view type, std::string_view data, const std::string& alt) {
  return fmt::format("<p><img alt=\"{}\" src=\"data:image/{};base64,{}\"></p>\n", html_escaped(alt),
                     type, to_base64(data));
}

// What a block is, with HTML that needs no script and no style. `text` is the block as text.
struct BlockFields {
  const std::string& text;

  Json operator()(const Heading& heading) const {
    return Json::object(
        {{"kind", "heading"}, {"html", "<h3>" + html_escaped(heading.text) + "</h3>\n"}});
  }
  Json operator()(const Paragraph& paragraph) const {
    const std::string_view kind = tone_name(paragraph.tone);
    if (const auto items = list_items(paragraph.text); !items.empty()) {
      std::string list;
      for (const std::string& item : items) list += "<li>" + marked_html(item) + "</li>\n";
      return Json::object({{"kind", kind}, {"html", "<ul>\n" + list + "</ul>\n"}});
    }
    const bool quoted = paragraph.tone == Tone::kAnswer || paragraph.tone == Tone::kWhy;
    const std::string_view tag = paragraph.tone == Tone::kCode ? "pre"
                                 : quoted                      ? "blockquote"
                                                               : "p";
    std::string inside =
        paragraph.tone == Tone::kCode ? html_escaped(paragraph.text) : marked_html(paragraph.text);
    if (paragraph.tone == Tone::kWhy) inside = "<strong>Why:</strong> " + inside;
    if (paragraph.tone == Tone::kQuestion) inside = "<em>" + inside + "</em>";
    return Json::object({{"kind", kind}, {"html", fmt::format("<{0}>{1}</{0}>\n", tag, inside)}});
  }
  Json operator()(const Formula& formula) const {
    return Json::object(
        {{"kind", "formula"}, {"html", formula.mathml() + "\n"}, {"latex", formula.latex()}});
  }
  Json operator()(const Table& table) const {
    return Json::object({{"kind", "table"}, {"html", table.to_html("")}});
  }
  Json operator()(const Chart& chart) const {
    const std::string svg = chart_svg(chart);
    return Json::object({{"kind", "chart"},
                         {"title", chart.title},
                         {"html", image("svg+xml", svg, chart.title)},
                         {"svg", svg}});
  }
  Json operator()(const Picture& picture) const {
    return Json::object({{"kind", "picture"},
                         {"title", picture.caption},
                         {"html", image("png", picture.png, picture.caption)}});
  }
  Json operator()(const Listing& listing) const {
    return Json::object({{"kind", "listing"}, {"title", listing.title}, {"html", plain()}});
  }
  Json operator()(const Provenance&) const {
    return Json::object({{"kind", "provenance"}, {"html", plain()}});
  }

 private:
  std::string plain() const { return "<pre>" + html_escaped(text) + "</pre>\n"; }
};

bool has_heat_map(const Document& document) {
  return std::any_of(document.blocks.begin(), document.blocks.end(), [](const Block& block) {
    const auto* chart = std::get_if<Chart>(&block);
    return chart != nullptr && chart->kind == ChartKind::kHeatMap;
  });
}

}  // namespace

Json bundle(const Document& document, const std::string& command) {
  const std::optional<Document> shorter = brief(document);
  const bool other_cell = shorter || has_heat_map(document);
  Json blocks = Json::array();
  for (const Block& block : (shorter ? *shorter : document).blocks) {
    Document alone;
    alone.blocks.push_back(block);
    const std::string text = render(alone, Format::kText);
    Json fields = std::visit(BlockFields{text}, block);
    fields["text"] = text;
    fields["markdown"] = render(alone, Format::kMarkdown);
    blocks.push_back(std::move(fields));
  }
  return Json::object({{"title", printable(document.title)},
                       {"lead", printable(document.lead)},
                       {"command", command},
                       {"data", document.data},
                       {"blocks", std::move(blocks)},
                       {"page", html_page(document, command)},
                       {"cell", other_cell ? Json(html_page(shorter ? *shorter : document, command,
                                                            HeatMaps::kPictures))
                                           : Json()}});
}

}  // namespace trainyard::report
