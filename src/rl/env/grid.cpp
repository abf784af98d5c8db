#include "rl/env/grid.h"

#include <algorithm>

namespace trainyard::rl {

int64_t Grid::moved(int64_t cell, int64_t down, int64_t right) const {
  const Cell from = at(cell);
  return number({std::clamp<int64_t>(from.row + down, 0, rows - 1),
                 std::clamp<int64_t>(from.column + right, 0, columns - 1)});
}

int32_t slip(int32_t wanted, bool slippery, EventStream& chance) {
  const double luck = chance.uniform();
  if (!slippery) return wanted;
  constexpr double kThird = 1.0 / 3.0;
  const int32_t turn = luck < kThird ? 3 : (luck < kThird + kThird ? 0 : 1);
  return (wanted + turn) % 4;
}

int64_t read_cell(const Json& state, const Grid& grid, const char* game) {
  TY_REQUIRE(state.is_int() && state.as_int() >= 0 && state.as_int() < grid.cells(),
             "a state of {} is a cell from 0 to {}, found {}", game, grid.cells() - 1,
             state.dump(-1));
  return state.as_int();
}

void one_hot(int64_t cell, int64_t cells, float* to) {
  std::fill_n(to, cells, 0.0F);
  to[cell] = 1;
}

int64_t hot_cell(std::span<const float> observation) {
  return std::max_element(observation.begin(), observation.end()) - observation.begin();
}

void fill_cell(Canvas& canvas, const Grid& grid, int64_t cell, Color color) {
  const double height = static_cast<double>(canvas.height()) / static_cast<double>(grid.rows);
  const double width = static_cast<double>(canvas.width()) / static_cast<double>(grid.columns);
  const double top = height * static_cast<double>(grid.at(cell).row);
  const double left = width * static_cast<double>(grid.at(cell).column);
  canvas.fill(left + 1, top + 1, left + width, top + height, color);
}

void draw_walker(Canvas& canvas, const Grid& grid, int64_t cell) {
  const double height = static_cast<double>(canvas.height()) / static_cast<double>(grid.rows);
  const double width = static_cast<double>(canvas.width()) / static_cast<double>(grid.columns);
  canvas.disc(width * (static_cast<double>(grid.at(cell).column) + 0.5),
              height * (static_cast<double>(grid.at(cell).row) + 0.5),
              std::min(height, width) * 0.35, kWarm);
}

}  // namespace trainyard::rl
