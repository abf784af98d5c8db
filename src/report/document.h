// Documents: what a command or a lab has to say, as blocks for people and data for programs.
// Rendered as text, Markdown, CSV, JSON or a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "report/chart.h"
#include "report/formula.h"
#include "report/table.h"

namespace trainyard::report {

// How a document leaves the program. HTML says which command made it.
struct Format {
  enum Kind : uint8_t { kText, kMarkdown, kCsv, kJson, kHtml, kBundle, kNotebook };

  Format(Kind chosen = kText) : kind(chosen) {}
  bool operator==(Kind other) const { return kind == other; }

  Kind kind;
  std::string command = {};
};

// Throws Error for anything but text, md, csv, json, html, bundle and ipynb.
Format::Kind format_from_name(std::string_view name);
std::string_view format_name(Format::Kind kind);

struct Heading {
  std::string text;
};

// Answers and notices (what weakens the evidence) stand out; why is a principle in a box, apart
// from what was found here; a question is what a part answers; code keeps its line breaks. Text may
// have `code` and **strong** words; a text that begins with "- " is an item of a list.
enum class Tone : uint8_t { kPlain, kAnswer, kCode, kNotice, kWhy, kQuestion };
struct Paragraph {
  std::string text;
  Tone tone = Tone::kPlain;
};

// In pixels of the picture.
struct Box {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  std::string label;
};

struct Picture {
  std::string png;  // the bytes of the file
  std::string caption;
  std::vector<Box> boxes = {};
};

// Texts side by side. Lines of one mark have one color, wherever they stand in the document.
struct ListingLine {
  std::string text;
  std::string mark = {};  // empty: none
};

struct ListingColumn {
  std::string title;
  std::vector<ListingLine> lines;
};

struct Listing {
  std::string title;
  std::vector<ListingColumn> columns;
};

// What made the document, so that it can be made again.
struct Provenance {
  std::string command;
  Json configuration = {};  // an object, or null
  Json machine = {};        // an object, or null
};

// Names and values as people read them: lists with commas, bytes with a unit, nothing that is
// empty.
std::vector<std::pair<std::string, std::string>> facts_of(const Json& object);

using Block = std::variant<Heading, Paragraph, Formula, Table, Chart, Picture, Listing, Provenance>;

// Blocks for people, data for programs.
struct Document {
  std::vector<Block> blocks;
  Json data;
  std::string title = {};  // of the page; absent: its first heading
  std::string lead = {};   // a sentence or two under the title
};

// CSV holds the tables alone, JSON the data alone. HTML is a page that needs no other file. A
// bundle is bundle() as JSON. Not for notebooks (TY_CHECKed): those are made of labs.
std::string render(const Document& document, const Format& format);

// {title, lead, command, data, blocks: [{kind, text, markdown, html, svg of charts, latex of
// formulas}], page, cell}, for programs that show documents themselves. Blocks are those of
// brief(); `cell` is the page of it, or null where nothing was left out.
Json bundle(const Document& document, const std::string& command);

// The document as a cell of a notebook has room for it: lines of long series go through fewer
// points, those between that reach highest and lowest, and long tables have their first and last
// rows. Captions and notes say what was left out. Null: it is brief already.
std::optional<Document> brief(const Document& document);

}  // namespace trainyard::report
