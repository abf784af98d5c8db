// What games on a grid of numbered cells share.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/json.h"
#include "rl/env/canvas.h"
#include "rl/env/event_stream.h"

namespace trainyard::rl {

struct Cell {
  int64_t row;
  int64_t column;
};

struct Grid {
  int64_t rows;
  int64_t columns;

  int64_t cells() const { return rows * columns; }
  Cell at(int64_t cell) const { return {cell / columns, cell % columns}; }
  int64_t number(Cell cell) const { return cell.row * columns + cell.column; }
  // A step that stays within the walls.
  int64_t moved(int64_t cell, int64_t down, int64_t right) const;
};

// Where a wanted direction of four really goes: one number is drawn in any case, and on ice the two
// directions beside it are as likely.
int32_t slip(int32_t wanted, bool slippery, EventStream& chance);

// Throws Error unless the state is the number of a cell.
int64_t read_cell(const Json& state, const Grid& grid, const char* game);

void one_hot(int64_t cell, int64_t cells, float* to);
// The cell of a one-hot row.
int64_t hot_cell(std::span<const float> observation);

// One cell of a board that fills the canvas.
void fill_cell(Canvas& canvas, const Grid& grid, int64_t cell, Color color);
void draw_walker(Canvas& canvas, const Grid& grid, int64_t cell);

}  // namespace trainyard::rl
