#include "program/lab/notebook.h"

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

enum class BlockRole : uint8_t { kProse, kAnswer, kFigure };

BlockRole role_of(const Json& block) {
  constexpr std::string_view kProse[] = {"text", "formula", "notice", "why", "question", "code"};
  const std::string& kind = block.at("kind").as_string();
  if (kind == "answer") return BlockRole::kAnswer;
  const bool prose = std::find(std::begin(kProse), std::end(kProse), kind) != std::end(kProse);
  return prose ? BlockRole::kProse : BlockRole::kFigure;
}

bool is_passage(const Json& block) {
  const std::string& kind = block.at("kind").as_string();
  return kind == "text" || kind == "formula";
}

// Numbers in a text are of the results, so it has to change with them; a line that names a part of
// the report ("**1. Weights**") is not.
bool has_results(const Json& block) {
  std::string text = block.at("markdown").as_string();
  text.resize(text.find_last_not_of('\n') + 1);
  const bool name = text.starts_with("**") && text.ends_with("**");
  return is_passage(block) && !name && text.find_first_of("0123456789") != std::string::npos;
}

Json shown(const Json& block) {
  if (block.at("kind").as_string() == "formula") {
    return Json::object({{"text/latex", lines_of(block.at("markdown").as_string())},
                         {"text/plain", lines_of(block.at("text").as_string())}});
  }
  Json data = Json::object({{"text/html", lines_of(block.at("html").as_string())},
                            {"text/plain", lines_of(block.at("text").as_string())}});
  if (const Json* svg = block.find("svg")) data["image/svg+xml"] = lines_of(svg->as_string());
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

// What a cell of code shows, in words: "chart: Speed-up of an epoch".
std::string comment_of(const Json& block) {
  const std::string& kind = block.at("kind").as_string();
  const Json* title = block.find("title");
  if (title == nullptr || title->as_string().empty()) return "# The " + kind + ".";
  return fmt::format("# The {}: {}", kind, split(title->as_string(), '\n')[0]);
}

// The cells of one section, in the order of its blocks.
class SectionCells {
 public:
  SectionCells(const Section& section, const NotebookOptions& options, Cells& cells)
      : section_(section), options_(options), cells_(cells) {
    if (!section.heading.empty()) prose_ = "## " + without_formulas(section.heading) + "\n";
  }

  void add_all() {
    for (const Json* block : section_.blocks) {
      switch (role_of(*block)) {
        case BlockRole::kProse:
          add_prose(*block);
          break;
        case BlockRole::kFigure:
          add_code(comment_of(*block), "figure", ++figures_, *block);
          break;
        case BlockRole::kAnswer:
          add_answer(*block);
          break;
      }
    }
    flush();
  }

 private:
  void flush() {
    if (!prose_.empty()) cells_.markdown(prose_);
    prose_.clear();
  }

  void add_code(const std::string& comment, std::string_view what, int64_t number,
                const Json& block) {
    flush();
    cells_.code(
        fmt::format("{}\nlab.section({}).{}({})", comment, quoted(section_.heading), what, number),
        shown(block));
  }

  void add_prose(const Json& block) {
    passages_ += is_passage(block) ? 1 : 0;
    if (has_results(block)) {
      add_code("# The " + block.at("kind").as_string() + ", with the numbers of the results.",
               "passage", passages_, block);
    } else {
      prose_ += (prose_.empty() ? "" : "\n") + markdown_of(block);
    }
  }

  void add_answer(const Json& block) {
    ++answers_;
    if (!options_.blank) {
      add_code("# What the results say, computed from them.", "answer", answers_, block);
    } else if (answers_ == 1) {
      prose_ += (prose_.empty() ? "" : "\n") + std::string("**Your conclusion:**\n");
    }
  }

  const Section& section_;
  const NotebookOptions& options_;
  Cells& cells_;
  std::string prose_;
  int64_t figures_ = 0;
  int64_t answers_ = 0;
  int64_t passages_ = 0;
};

std::string lab_call(const NotebookOptions& options) {
  std::string call = fmt::format(
      "# Trainyard's Python package.\nimport trainyard as ty\n\n# Runs the commands, or takes the "
      "results that are there already.\nlab = ty.{}({}",
      options.course ? "course" : "lab", quoted(options.name));
  if (options.choices.scale != Scale::kFull) {
    call += fmt::format(", scale=\"{}\"", scale_name(options.choices.scale));
  }
  if (!options.choices.set.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : options.choices.set) words.push_back(quoted(word));
    call += ", set=[" + join(words, ", ") + "]";
  }
  // From whatever folder the notebook is executed in.
  if (!options.runs.empty()) {
    call += fmt::format(", runs_dir=ty.find_runs({})", quoted(options.runs));
  }
  return call + ")";
}

}  // namespace

std::string notebook(const report::Document& document, const NotebookOptions& options) {
  const Json bundle = report::bundle(document, "");
  Cells cells;
  cells.markdown(without_formulas("# " + document.title + "\n\n" + document.lead + "\n"));
  cells.code(lab_call(options), {});
  for (const Section& section : sections_of(bundle)) {
    SectionCells(section, options, cells).add_all();
  }
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
