// From runs and their numbers to the lines of a chart.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Curve, extend, noCurve, Row } from './ui_api';
import { Colored } from './ui_chosen';
import { bandOf, Drawn, envelope, grouped, noGroups, Points, pointsOf, Scale, smooth, XAxis } from './ui_series';

export type Curves = Map<string, Curve>;
export interface How { axis: XAxis; weight: number; group: string; raw: boolean }

export const plain: How = { axis: 'step', weight: 0, group: noGroups, raw: false };

/** Their curves, read from where the last look ended. */
export function useCurves(rows: Row[], load: (id: string, old: Curve | undefined) => Promise<Curve> = extend): Curves {
  const [curves, set] = useState<Curves>(new Map());
  const reading = useRef(new Set<string>());
  useEffect(() => {
    for (const row of rows) {
      const old = curves.get(row.id);
      const upToDate = old !== undefined && old.generation === row.generation && old.next >= row.size;
      if (upToDate || reading.current.has(row.id)) continue;
      reading.current.add(row.id);
      load(row.id, old)
        .then((curve) => set((all) => new Map(all).set(row.id, curve)), () => undefined) // the next look asks again
        .finally(() => reading.current.delete(row.id));
    }
  }, [rows, curves]);
  return curves;
}

/** A line for each run, or for each group the mean with its band. */
export function linesOf(runs: Colored[], curves: Curves, metric: string, how: How, price: number | null): Drawn[] {
  const scaleOf = (row: Row): Scale => ({ batch: typeof row.batch === 'number' ? row.batch : 1, usdPerSecond: (price ?? 0) / 3600 });
  const lineOf = (row: Row): Points => pointsOf(curves.get(row.id) ?? noCurve, metric, how.axis, scaleOf(row));
  const smoothed = (points: Points): Points => (how.weight > 0 ? smooth(points, how.weight) : points);
  const colors = new Map(runs.map(({ row, color }) => [row.id, color]));
  const lines: Drawn[] = [];
  for (const group of grouped(runs.map(({ row }) => row), how.group)) {
    const all = group.rows.map(lineOf).filter((points) => points.x.length > 0);
    const color = colors.get(group.rows[0].id) ?? 0;
    if (all.length === 0) continue;
    if (all.length === 1) {
      const thin = envelope(smoothed(all[0]), all[0]);
      lines.push({ name: group.name, color, raw: how.raw && how.weight > 0 && !thin.low ? all[0] : undefined, ...(how.raw || how.weight === 0 ? thin : { line: thin.line }) });
      continue;
    }
    const band = bandOf(all.map(smoothed));
    lines.push({ name: `${group.name}, mean`, color, line: band.mean, low: band.low, high: band.high });
  }
  return lines;
}
