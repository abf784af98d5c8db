// A table: one description, rendered as text, Markdown, CSV or HTML.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::report {

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

// Which number of a column is marked.
enum class Best : uint8_t { kNone, kLowest, kHighest };

struct Column {
  std::string name;
  Align align = Align::kRight;
  // A text column may be shortened in the middle where the table would be wider than the terminal;
  // 0: never, its words take more lines. Nothing is shortened in a pipe, in CSV and JSON.
  size_t widest = 0;
  std::string key = {};  // the name in CSV; empty: as it is
  Best best = Best::kNone;
};

// Width on a terminal, taking a column for each character.
size_t width_of(std::string_view text);
// The byte where the character after the first `count` begins.
size_t byte_after(std::string_view text, size_t count);
// Filled with spaces to a width on a terminal.
std::string padded(const std::string& text, size_t width, Align align);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns (TY_CHECKed).
  void add_row(std::vector<Cell> cells);
  // A row that is shown but does not count: struck out, and never the best.
  void add_struck_row(std::vector<Cell> cells);
  // A line across the table, before the totals.
  void add_rule();
  size_t num_rows() const { return rows_.size(); }
  // Its first and last `each` rows with a line between; none of them is marked as the best, which
  // may have been another. There must be more rows than that (TY_CHECKed).
  Table ends(size_t each) const;

  // Not wider than the terminal, as far as words and numbers allow: text is shortened or takes more
  // lines, then columns follow below, with the first one again.
  std::string to_text() const;
  std::string to_markdown() const;
  std::string to_csv() const;
  // A <table>; `caption` may be empty.
  std::string to_html(std::string_view caption) const;

 private:
  // Of the cells of `column`, the rows that hold its best number.
  std::vector<bool> best_rows(size_t column) const;
  // Cells as people read them, the best one marked by these.
  std::vector<std::vector<std::string>> marked(std::string_view before,
                                               std::string_view after) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;  // an empty row is a rule
  std::set<size_t> struck_;              // of rows_
};

}  // namespace trainyard::report
