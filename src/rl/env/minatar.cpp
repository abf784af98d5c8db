#include "rl/env/minatar.h"

namespace trainyard::rl {

Json board_json(const Board& board) {
  Json rows = Json::array();
  for (int32_t row = 0; row < kBoardSide; ++row) {
    Json cells = Json::array();
    for (int32_t column = 0; column < kBoardSide; ++column) {
      cells.push_back(has(board, row, column) ? 1 : 0);
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

Board read_board(const Json& rows) {
  Board board{};
  TY_REQUIRE(rows.is_array() && rows.items().size() == board.size(),
             "a board has {} rows, found {}", board.size(), rows.dump(-1));
  for (int32_t row = 0; row < kBoardSide; ++row) {
    const Json::Array& cells = rows.items()[static_cast<size_t>(row)].items();
    TY_REQUIRE(cells.size() == board.size(), "row {} of a board has {} cells, expected {}", row,
               cells.size(), board.size());
    for (int32_t column = 0; column < kBoardSide; ++column) {
      if (cells[static_cast<size_t>(column)].as_int() != 0) put(board, row, column);
    }
  }
  return board;
}

int32_t int_within(const Json& value, std::string_view what, int32_t low, int32_t high) {
  TY_REQUIRE(value.is_int() && value.as_int() >= low && value.as_int() <= high,
             "'{}' of a state is a whole number from {} to {}, found {}", what, low, high,
             value.dump(-1));
  return static_cast<int32_t>(value.as_int());
}

void draw_channels(Canvas& canvas, std::span<const float> observation) {
  static constexpr Color kColors[] = {
      {21, 101, 192}, {230, 81, 0},  {255, 204, 128}, {106, 27, 154}, {46, 125, 50},
      {198, 40, 40},  {0, 131, 143}, {158, 157, 36},  {93, 64, 55},   {236, 64, 122}};
  const double cell = static_cast<double>(canvas.width()) / kBoardSide;
  for (size_t i = 0; i < observation.size(); ++i) {
    if (observation[i] == 0) continue;
    const size_t place = i % (kBoardSide * kBoardSide);
    const size_t row = place / kBoardSide;
    const double top = static_cast<double>(row) * cell;
    const double left = static_cast<double>(place % kBoardSide) * cell;
    canvas.fill(left + 1, top + 1, left + cell, top + cell,
                kColors[i / (kBoardSide * kBoardSide) % std::size(kColors)]);
  }
}

}  // namespace trainyard::rl
