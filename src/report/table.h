// Tables and the documents they stand in: one description, rendered as text, Markdown, CSV or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace trainyard::report {

enum class Format : uint8_t { kText, kMarkdown, kCsv, kJson };

// Throws Error for anything but text, md, csv, json.
Format format_from_name(std::string_view name);

enum class Align : uint8_t { kLeft, kRight };

// What people read ("25.6M") beside what programs read ("25557032").
struct Cell {
  std::string text;
  std::string raw;

  Cell(std::string words) : text(words), raw(std::move(words)) {}
  Cell(const char* words) : Cell(std::string(words)) {}
  Cell(std::string_view words) : Cell(std::string(words)) {}
  Cell(std::string shown, std::string exact) : text(std::move(shown)), raw(std::move(exact)) {}
};

Cell count_cell(int64_t number);                  // 1,234,567
Cell si_cell(double number);                      // 1.23M
Cell bytes_cell(int64_t bytes);                   // 548 MiB
Cell fixed_cell(double number, int digits);       // 3.14
Cell percent_cell(double share, int digits = 1);  // 0.993 -> 99.3 %
Cell seconds_cell(double seconds);                // 4.56 ms; raw in seconds

struct Column {
  std::string name;
  Align align = Align::kRight;
  // A text column may be shortened in the middle to this width, and to less where the table would
  // be wider than a terminal; 0: never. CSV and JSON are not shortened.
  size_t widest = 0;
  std::string key = {};  // the name in CSV; empty: as it is
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns (TY_CHECKed).
  void add_row(std::vector<Cell> cells);
  // A line across the table, before the totals.
  void add_rule();
  size_t num_rows() const { return rows_.size(); }

  std::string to_text() const;
  std::string to_markdown() const;
  std::string to_csv() const;

 private:
  std::vector<size_t> natural_widths() const;
  std::string fit(std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;  // an empty row is a rule
};

struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
};

// Blocks for people, data for programs.
struct Document {
  std::vector<std::variant<Heading, Paragraph, Table>> blocks;
  Json data;
};

// CSV holds the tables alone, JSON the data alone.
std::string render(const Document& document, Format format);

}  // namespace trainyard::report
