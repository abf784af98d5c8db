// A document for programs that show it themselves (notebooks): its data, its blocks in the forms
// that such a program may choose from, and the page, all of one run.
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
  }
  return "";
}

// What a block is, beside its text.
struct BlockFields {
  Json operator()(const Heading&) const { return Json::object({{"kind", "heading"}}); }
  Json operator()(const Paragraph& paragraph) const {
    return Json::object({{"kind", tone_name(paragraph.tone)}});
  }
  Json operator()(const Table& table) const {
    return Json::object({{"kind", "table"}, {"html", table.to_html("")}});
  }
  Json operator()(const Chart& chart) const {
    return Json::object({{"kind", "chart"}, {"title", chart.title}, {"svg", chart_svg(chart)}});
  }
  Json operator()(const Picture& picture) const {
    return Json::object(
        {{"kind", "picture"}, {"caption", picture.caption}, {"png", to_base64(picture.png)}});
  }
  Json operator()(const Listing& listing) const {
    return Json::object({{"kind", "listing"}, {"title", listing.title}});
  }
  Json operator()(const Provenance&) const { return Json::object({{"kind", "provenance"}}); }
};

}  // namespace

Json bundle(const Document& document, const std::string& command) {
  Json blocks = Json::array();
  for (const Block& block : document.blocks) {
    Json fields = std::visit(BlockFields{}, block);
    Document alone;
    alone.blocks.push_back(block);
    fields["text"] = render(alone, Format::kText);
    fields["markdown"] = render(alone, Format::kMarkdown);
    blocks.push_back(std::move(fields));
  }
  return Json::object({{"title", printable(document.title)},
                       {"lead", printable(document.lead)},
                       {"command", command},
                       {"data", document.data},
                       {"blocks", std::move(blocks)},
                       {"page", html_page(document, command)}});
}

}  // namespace trainyard::report
