// The rows of a table in text: comma, semicolon, tab or blanks between cells, quotes around cells
// that have these, one row a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::data {

// A table that was read: its text and how cells are told apart.
class TableText {
 public:
  // Reads a file, which may be compressed. Throws Error for one that is missing, empty or
  // no text.
  static TableText read(const std::filesystem::path& file);
  // `origin` names it in errors.
  TableText(std::string text, std::string origin);

  const std::string& text() const { return text_; }
  const std::string& origin() const { return origin_; }
  char separator() const { return separator_; }
  // Of the first row.
  const std::vector<std::string>& first_cells() const { return first_cells_; }
  // Whether the first row has the names of the columns: none of its cells is a number.
  bool names_columns() const;

 private:
  std::string text_;
  std::string origin_;
  char separator_ = ',';
  std::vector<std::string> first_cells_;
};

// Goes through the rows of a text, which must outlive it. Empty lines are no rows.
class CellReader {
 public:
  explicit CellReader(const TableText& table);

  // The cells of the next row, without blanks around them, valid until the next call; false at the
  // end. Throws Error with the line for a quote without its end and for too many cells.
  bool next(std::vector<std::string_view>& cells);
  // Of the row that was read, from 1.
  int64_t line() const { return line_; }
  // "FILE, line N"
  std::string place() const;

 private:
  void read_cell(std::vector<std::string_view>& cells);
  void read_quoted(std::vector<std::string_view>& cells);
  bool skip_blank_lines();

  const TableText& table_;
  std::string_view rest_;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
  // Cells with doubled quotes, written as they are meant; kept from row to row for their memory.
  std::vector<std::string> unquoted_;
  size_t used_ = 0;
};

// What a table may have at most; a text of more is hardly one.
inline constexpr int64_t kMostColumns = 16384;

}  // namespace trainyard::data
