// Which runs are drawn, and in which color: those that were chosen keep theirs when others go.
import { Row } from './ui_api';
import { mostColors } from './ui_colors';

/** Places of colors; an empty one is free. */
export type Chosen = string[];

export const isChosen = (chosen: Chosen, id: string): boolean => chosen.includes(id);
export const countOf = (chosen: Chosen): number => chosen.filter((id) => id !== '').length;
export function toggled(chosen: Chosen, id: string): Chosen {
  if (chosen.includes(id)) {
    const rest = chosen.map((one) => (one === id ? '' : one));
    while (rest.length > 0 && rest[rest.length - 1] === '') rest.pop();
    return rest;
  }
  const free = chosen.indexOf('');
  return free < 0 ? [...chosen, id] : chosen.map((one, i) => (i === free ? id : one));
}

export interface Colored { row: Row; color: number }

/** The chosen ones, or else the first of `rows`. */
export function drawnRuns(chosen: Chosen, known: Map<string, Row>, rows: Row[], without = 8): Colored[] {
  const given = chosen.flatMap((id, color) => { const row = known.get(id); return row ? [{ row, color }] : []; });
  if (given.length > 0) return given;
  return rows.filter((row) => row.points !== 0).slice(0, Math.min(without, mostColors)).map((row, color) => ({ row, color }));
}
