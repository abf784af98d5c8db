// From lines of metrics to what a chart draws.
import { Curve, Line, Row, textOf } from './ui_api';

export type XAxis = 'step' | 'epoch' | 'seconds';
export interface Points { x: number[]; y: (number | null)[] }
/** One line of a chart: a run, or the mean of several with what they span. */
export interface Drawn { name: string; color: number; raw?: Points; line: Points; low?: Points; high?: Points }

const notMetrics = new Set(['step', 'epoch', 'seconds']);

export function metricNames(curves: Curve[]): string[] {
  const names = new Set<string>();
  for (const curve of curves) {
    for (const line of curve.lines) for (const name of Object.keys(line)) if (!notMetrics.has(name)) names.add(name);
  }
  return [...names].sort();
}

/** Between two known points straight; beyond the last by the last slope. */
function interpolate(xs: number[], ys: number[], x: number): number {
  if (xs.length === 1) return ys[0];
  let at = 1;
  let end = xs.length - 1;
  while (at < end) {
    const middle = (at + end) >> 1;
    if (xs[middle] < x) at = middle + 1;
    else end = middle;
  }
  const width = xs[at] - xs[at - 1];
  return width === 0 ? ys[at] : ys[at - 1] + ((ys[at] - ys[at - 1]) * (x - xs[at - 1])) / width;
}

// Lines of steps may not say when they were; those of epochs do.
function positions(lines: Line[], axis: XAxis): (line: Line) => number | undefined {
  if (axis === 'step') return (line) => line.step ?? undefined;
  const known = lines.filter((line) => typeof line[axis] === 'number');
  if (known.length === 0) return () => undefined;
  const xs = [0, ...known.map((line) => line.step as number)];
  const ys = [0, ...known.map((line) => line[axis] as number)];
  return (line) => line[axis] ?? interpolate(xs, ys, line.step as number);
}

export function pointsOf(curve: Curve, metric: string, axis: XAxis): Points {
  const position = positions(curve.lines, axis);
  const points: Points = { x: [], y: [] };
  for (const line of curve.lines) {
    const value = line[metric];
    if (value === undefined) continue;
    const x = position(line);
    if (x === undefined) continue;
    if (points.x.length > 0 && x <= points.x[points.x.length - 1]) {
      points.y[points.y.length - 1] = value; // two lines of one step
      continue;
    }
    points.x.push(x);
    points.y.push(value);
  }
  return points;
}

/** Exponential mean over what came before, without the pull to zero at the beginning. */
export function smooth(points: Points, weight: number): Points {
  let sum = 0;
  let share = 0;
  const y = points.y.map((value) => {
    if (value === null) return null;
    sum = weight * sum + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return sum / share;
  });
  return { x: points.x, y };
}

/** Runs of the same settings but the seed, in the order of their first. */
export function seedGroups(rows: Row[]): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = JSON.stringify(Object.entries(row.settings).filter(([name]) => name !== 'seed').map(([name, value]) => [name, textOf(value)]));
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()];
}

/** Mean, least and most of several lines, where all of them have begun and none has ended. */
export function bandOf(lines: Points[]): { mean: Points; low: Points; high: Points } {
  const filled = lines.filter((line) => line.x.length > 0);
  const from = Math.max(...filled.map((line) => line.x[0]));
  const to = Math.min(...filled.map((line) => line.x[line.x.length - 1]));
  const x = [...new Set(filled.flatMap((line) => line.x))].filter((at) => at >= from && at <= to).sort((a, b) => a - b);
  const known = filled.map((line) => {
    const kept = line.x.map((_, i) => i).filter((i) => line.y[i] !== null);
    return { x: kept.map((i) => line.x[i]), y: kept.map((i) => line.y[i] as number) };
  }).filter((line) => line.x.length > 0);
  const at = (value: number): number[] => known.map((line) => interpolate(line.x, line.y, value));
  const values = x.map(at);
  return {
    mean: { x, y: values.map((list) => list.reduce((sum, one) => sum + one, 0) / list.length) },
    low: { x, y: values.map((list) => Math.min(...list)) },
    high: { x, y: values.map((list) => Math.max(...list)) },
  };
}
