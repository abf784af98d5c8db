#include "lab/notebook.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace trainyard::lab {
namespace {

// A Python literal: JSON's escapes are Python's.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1);
}

// nbformat keeps texts as lists of lines, which makes differences readable.
Json lines_of(const std::string& text) {
  Json lines = Json::array();
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

class Cells {
 public:
  void markdown(const std::string& text) { add(Json::object({{"cell_type", "markdown"}}), text); }

  // `data` is what the cell shows, by MIME type; null: nothing.
  void code(const std::string& source, Json data) {
    Json outputs = Json::array();
    ++executed_;
    if (!data.is_null()) {
      outputs.push_back(Json::object({{"output_type", "execute_result"},
                                      {"execution_count", executed_},
                                      {"metadata", Json::object()},
                                      {"data", std::move(data)}}));
    }
    add(Json::object({{"cell_type", "code"},
                      {"execution_count", executed_},
                      {"outputs", std::move(outputs)}}),
        source);
  }

  Json take() { return std::move(cells_); }

 private:
  void add(Json cell, const std::string& source) {
    // Unique in the notebook and the same each time it is made.
    cell["id"] = fmt::format("ty-{:03}", cells_.items().size() + 1);
    cell["metadata"] = Json::object();
    cell["source"] = lines_of(source);
    cells_.push_back(std::move(cell));
  }

  Json cells_ = Json::array();
  int64_t executed_ = 0;
};

// The blocks under one heading.
struct Section {
  std::string heading;
  std::vector<const Json*> blocks = {};
};

std::vector<Section> sections_of(const Json& bundle) {
  std::vector<Section> sections = {{}};
  for (const Json& block : bundle.at("blocks").items()) {
    const std::string& kind = block.at("kind").as_string();
    if (kind == "heading") {
      sections.push_back({split(block.at("text").as_string(), '\n')[0]});
    } else if (kind != "provenance") {
      sections.back().blocks.push_back(&block);
    }
  }
  return sections;
}

bool is_prose(const Json& block) {
  const std::string& kind = block.at("kind").as_string();
  return kind == "text" || kind == "formula" || kind == "answer" || kind == "notice";
}

Json shown(const std::vector<const Json*>& blocks) {
  std::string text;
  std::string html;
  for (const Json* block : blocks) {
    text += block->at("text").as_string() + "\n";
    html += block->at("html").as_string();
  }
  Json data = Json::object({{"text/html", lines_of(html)}, {"text/plain", lines_of(text)}});
  const auto chart = std::find_if(blocks.begin(), blocks.end(),
                                  [](const Json* block) { return block->find("svg") != nullptr; });
  if (chart != blocks.end()) data["image/svg+xml"] = lines_of((*chart)->at("svg").as_string());
  return data;
}

// Text for a cell of Markdown, where two prices would begin and end a formula.
std::string without_formulas(std::string_view text) {
  std::string out;
  bool code = false;
  for (const char c : text) {
    if (c == '`') code = !code;
    if (c == '$' && !code) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_of(const Json& block) {
  const std::string& text = block.at("markdown").as_string();
  return block.at("kind").as_string() == "formula" ? text : without_formulas(text);
}

// Prose as text, figures as what a cell of code gives, answers at the end.
void add_section(const Section& section, const NotebookOptions& options, Cells& cells) {
  std::string prose =
      section.heading.empty() ? "" : "## " + without_formulas(section.heading) + "\n";
  std::string answers;
  std::vector<const Json*> figures;
  for (const Json* block : section.blocks) {
    if (!is_prose(*block)) {
      figures.push_back(block);
    } else if (block->at("kind").as_string() == "answer") {
      answers += markdown_of(*block) + "\n";
    } else {
      prose += "\n" + markdown_of(*block);
    }
  }
  if (!prose.empty()) cells.markdown(prose);
  if (!figures.empty() && !section.heading.empty()) {
    cells.code(fmt::format("lab.section({}).figures()", quoted(section.heading)), shown(figures));
  } else if (!figures.empty()) {
    cells.code("lab.section(\"\").figures()", shown(figures));
  }
  if (answers.empty()) return;
  cells.markdown(options.blank ? "**Your conclusion:**\n" : answers);
}

std::string lab_call(const NotebookOptions& options) {
  std::string call = "import trainyard as ty\n\nlab = ty.lab(" + quoted(options.name);
  if (options.choices.quick) call += ", quick=True";
  if (!options.choices.set.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : options.choices.set) words.push_back(quoted(word));
    call += ", set=[" + join(words, ", ") + "]";
  }
  return call + ")";
}

}  // namespace

std::string notebook(const report::Document& document, const NotebookOptions& options) {
  const Json bundle = report::bundle(document, "");
  Cells cells;
  cells.markdown(without_formulas("# " + document.title + "\n\n" + document.lead + "\n"));
  cells.code(lab_call(options), {});
  for (const Section& section : sections_of(bundle)) add_section(section, options, cells);
  const Json kernel =
      Json::object({{"display_name", "Python 3"}, {"language", "python"}, {"name", "python3"}});
  const Json file = Json::object(
      {{"cells", cells.take()},
       {"metadata", Json::object({{"kernelspec", kernel},
                                  {"language_info", Json::object({{"name", "python"}})}})},
       {"nbformat", 4},
       {"nbformat_minor", 5}});
  return file.dump() + "\n";
}

}  // namespace trainyard::lab
