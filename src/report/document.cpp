// Documents in each format.
#include "report/document.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "base/text.h"
#include "report/html.h"

namespace trainyard::report {
namespace {

constexpr std::array<std::string_view, 7> kFormatNames = {"text", "md",     "csv",  "json",
                                                          "html", "bundle", "ipynb"};

std::string provenance_lines(const Provenance& provenance) {
  std::string out;
  if (!provenance.command.empty()) out += "Made by: " + provenance.command + "\n";
  const auto list = [&](std::string_view what, const Json& object) {
    std::vector<std::string> words;
    for (const auto& [key, value] : facts_of(object))
      words.push_back(fmt::format("{} {}", key, value));
    if (!words.empty()) out += fmt::format("{}: {}\n", what, join(words, "; "));
  };
  list("Settings", provenance.configuration);
  list("Machine", provenance.machine);
  return out;
}

std::string picture_words(const Picture& picture) {
  std::string_view caption = picture.caption;
  if (caption.ends_with('.')) caption.remove_suffix(1);
  return fmt::format("[{}; the picture is in the HTML report]\n", caption);
}

// The mark in front of each line.
std::string listing_text(const Listing& listing) {
  size_t width = 0;
  for (const ListingColumn& column : listing.columns) {
    for (const ListingLine& line : column.lines) width = std::max(width, width_of(line.mark));
  }
  std::string out;
  for (const ListingColumn& column : listing.columns) {
    out += (out.empty() ? "" : "\n") + column.title + "\n";
    for (const ListingLine& line : column.lines) {
      out += padded(line.mark, width, Align::kLeft) + " | " + line.text + "\n";
    }
  }
  return out;
}

// Lines of at most a terminal's width, broken between words.
// A pipe has no width; a hundred columns read well in a file.
std::string wrapped(std::string_view text) {
  constexpr size_t kUsual = 100;
  const size_t columns = terminal_columns();
  const size_t width_limit = columns == 0 ? kUsual : columns;
  std::string out;
  size_t column = 0;
  for (const std::string& line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    if (width_of(line) <= width_limit) {
      out += line;
      continue;
    }
    column = 0;
    for (const std::string& word : split(line, ' ')) {
      const size_t width = width_of(word);
      if (column > 0 && column + 1 + width > width_limit) {
        out += '\n';
        column = 0;
      } else if (column > 0) {
        out += ' ';
        column += 1;
      }
      out += word;
      column += width;
    }
  }
  return out;
}

// What a paragraph begins with in text and in Markdown.
struct ToneMark {
  Tone tone;
  std::string_view text;
  std::string_view markdown;
};
constexpr ToneMark kToneMarks[] = {{Tone::kAnswer, "=> ", "> "},
                                   {Tone::kNotice, "Note: ", "> **Note:** "},
                                   {Tone::kWhy, "Why: ", "> **Why:** "},
                                   {Tone::kQuestion, "Asked: ", "*Asked:* "}};

ToneMark mark_of(Tone tone) {
  for (const ToneMark& mark : kToneMarks) {
    if (mark.tone == tone) return mark;
  }
  return {tone, "", ""};
}

struct TextRenderer {
  std::string operator()(const Heading& heading) const {
    const size_t limit = terminal_columns();
    const size_t width = width_of(heading.text);
    const std::string rule(limit == 0 ? width : std::min(limit, width), '=');
    return wrapped(heading.text) + "\n" + rule + "\n";
  }
  std::string operator()(const Paragraph& paragraph) const {
    if (paragraph.tone == Tone::kCode) return paragraph.text + "\n";
    return wrapped(std::string(mark_of(paragraph.tone).text) + paragraph.text) + "\n";
  }
  std::string operator()(const Formula& formula) const {
    return wrapped("    " + formula.text()) + "\n";
  }
  std::string operator()(const Table& table) const { return table.to_text(); }
  std::string operator()(const Chart& chart) const {
    return chart_text(chart) + (chart.caption.empty() ? "" : wrapped(chart.caption) + "\n");
  }
  std::string operator()(const Picture& picture) const { return picture_words(picture); }
  std::string operator()(const Listing& listing) const {
    return listing.title + "\n\n" + listing_text(listing);
  }
  std::string operator()(const Provenance& provenance) const {
    return wrapped(provenance_lines(provenance));
  }
};

struct MarkdownRenderer {
  std::string operator()(const Heading& heading) const { return "## " + heading.text + "\n"; }
  std::string operator()(const Paragraph& paragraph) const {
    if (paragraph.tone == Tone::kCode) return "```\n" + paragraph.text + "\n```\n";
    return std::string(mark_of(paragraph.tone).markdown) + paragraph.text + "\n";
  }
  std::string operator()(const Formula& formula) const { return "$$" + formula.latex() + "$$\n"; }
  std::string operator()(const Table& table) const { return table.to_markdown(); }
  std::string operator()(const Chart& chart) const {
    return "```\n" + chart_text(chart) + "```\n" +
           (chart.caption.empty() ? "" : "\n" + chart.caption + "\n");
  }
  std::string operator()(const Picture& picture) const { return picture_words(picture); }
  std::string operator()(const Listing& listing) const {
    return listing.title + "\n\n```\n" + listing_text(listing) + "```\n";
  }
  std::string operator()(const Provenance& provenance) const {
    return provenance_lines(provenance);
  }
};

// Items of a list follow each other without an empty line, as Markdown wants it.
bool is_item(const Block& block) {
  const auto* paragraph = std::get_if<Paragraph>(&block);
  return paragraph != nullptr && paragraph->text.starts_with("- ");
}

template <typename Renderer>
std::string render_blocks(const Document& document) {
  std::string out;
  bool after_item = false;
  for (const Block& block : document.blocks) {
    if (!out.empty() && !(after_item && is_item(block))) out += "\n";
    out += std::visit(Renderer{}, block);
    after_item = is_item(block);
  }
  return out;
}

// Tables alone: charts are drawn from them, and a reader of CSV has no use for sentences.
std::string csv(const Document& document) {
  std::string out;
  for (const Block& block : document.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) {
      if (!out.empty()) out += "\n";
      out += table->to_csv();
    }
  }
  return out;
}

std::string value_words(const Json& value) {
  if (value.is_string()) return value.as_string();
  if (!value.is_array()) return value.dump(-1);
  std::vector<std::string> words;
  for (const Json& item : value.items()) words.push_back(value_words(item));
  return join(words, ", ");
}

}  // namespace

// Keys are for programs and keep their unit ("memory_bytes"); people read "memory 24 GiB".
std::vector<std::pair<std::string, std::string>> facts_of(const Json& object) {
  constexpr std::string_view kBytes = "_bytes";
  std::vector<std::pair<std::string, std::string>> facts;
  if (!object.is_object()) return facts;
  for (const auto& [key, value] : object.members()) {
    if (key.ends_with(kBytes) && value.is_number()) {
      facts.emplace_back(key.substr(0, key.size() - kBytes.size()), bytes_text(value.as_number()));
    } else if (std::string words = value_words(value); !words.empty()) {
      facts.emplace_back(key, std::move(words));
    }
  }
  return facts;
}

Format::Kind format_from_name(std::string_view name) {
  for (size_t i = 0; i < kFormatNames.size(); ++i) {
    if (kFormatNames[i] == name) return static_cast<Format::Kind>(i);
  }
  throw_error(
      "format '{}' is not one of text, md, csv, json, html, bundle; 'lab run' has ipynb too", name);
}

std::string_view format_name(Format::Kind kind) {
  return kFormatNames[kind];
}

std::string render(const Document& document, const Format& format) {
  switch (format.kind) {
    case Format::kText:
    case Format::kMarkdown: {
      const bool text = format == Format::kText;
      std::string head;
      if (!document.title.empty()) {
        head = text ? TextRenderer{}(Heading{document.title}) : "# " + document.title + "\n";
      }
      if (!document.lead.empty())
        head += "\n" + (text ? wrapped(document.lead) : document.lead) + "\n";
      if (!head.empty() && !document.blocks.empty()) head += "\n";
      return printable(head + (text ? render_blocks<TextRenderer>(document)
                                    : render_blocks<MarkdownRenderer>(document)));
    }
    // Escaped by the writer already; printable() would change the text that programs compare.
    case Format::kJson:
      return document.data.dump() + "\n";
    case Format::kCsv:
      return printable(csv(document));
    case Format::kHtml:
      return html_page(document, format.command);
    case Format::kBundle:
      return bundle(document, format.command).dump(-1) + "\n";
    case Format::kNotebook:
      break;
  }
  TY_CHECK(false, "a document has no form '{}'", format_name(format.kind));
  return "";
}

}  // namespace trainyard::report
