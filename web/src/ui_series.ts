// From columns of numbers to what a chart draws.
import { Column, Curve, Row, textOf } from './ui_api';

export type XAxis = 'step' | 'epoch' | 'samples' | 'tokens' | 'seconds' | 'cost';
export interface Points { x: number[]; y: (number | null)[] }
/** One line of a chart: a run, or the mean of several; what it spans lies between low and high. */
export interface Drawn { name: string; color: number; raw?: Points; line: Points; low?: Points; high?: Points }
/** What a position on an axis is multiplied by: images or sequences of a step, dollars of a second. */
export interface Scale { batch: number; usdPerSecond: number }

const notMetrics = new Set(['step', 'epoch', 'seconds']);

export function metricNames(curves: Curve[]): string[] {
  const names = new Set<string>();
  for (const curve of curves) for (const name of curve.columns.keys()) if (!notMetrics.has(name)) names.add(name);
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

// Lines of steps may not say when they were, and of epochs only how many are over; between those that are known, time passes evenly.
function known(steps: Column, values: Column): (index: number) => number | undefined {
  const xs = [0];
  const ys = [0];
  values.forEach((value, i) => {
    const step = steps[i];
    if (value === null || step === null || value <= ys[ys.length - 1]) return;
    xs.push(step);
    ys.push(value);
  });
  return (i) => (xs.length > 1 && typeof steps[i] === 'number' ? interpolate(xs, ys, steps[i] as number) : undefined);
}

/** Runs of texts say both speeds; 0: the samples are no texts. */
function tokensOfSample(curve: Curve): number {
  const [tokens, samples] = [curve.columns.get('tokens_per_s'), curve.columns.get('images_per_s')];
  const at = tokens?.findIndex((value, i) => value !== null && (samples?.[i] ?? 0) !== 0) ?? -1;
  return at < 0 ? 0 : Math.round((tokens?.[at] ?? 0) / (samples?.[at] ?? 1));
}

function positions(curve: Curve, axis: XAxis, scale: Scale): (index: number) => number | undefined {
  const steps = curve.columns.get('step');
  if (axis === 'step' || axis === 'samples' || axis === 'tokens') {
    const factor = axis === 'step' ? 1 : axis === 'samples' ? scale.batch : scale.batch * tokensOfSample(curve);
    return (i) => { const step = steps?.[i]; return typeof step === 'number' && factor > 0 ? factor * step : undefined; };
  }
  const values = curve.columns.get(axis === 'epoch' ? 'epoch' : 'seconds');
  if (!values) return () => undefined;
  const between = known(steps ?? [], values);
  const at = (i: number): number | undefined => (axis === 'epoch' ? undefined : values[i]) ?? between(i);
  if (axis !== 'cost') return at;
  return (i) => { const seconds = at(i); return seconds === undefined || !(scale.usdPerSecond > 0) ? undefined : seconds * scale.usdPerSecond; };
}

export function pointsOf(curve: Curve, metric: string, axis: XAxis, scale: Scale): Points {
  const position = positions(curve, axis, scale);
  const column = curve.columns.get(metric) ?? [];
  const points: Points = { x: [], y: [] };
  for (let i = 0; i < column.length; ++i) {
    const value = column[i];
    if (value === null) continue;
    const x = position(i);
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

const mostDrawn = 1500;

/** Few enough points to draw: of each stretch its last point of the line, and the least and most of all that were recorded in it. */
export function envelope(line: Points, recorded: Points): { line: Points; low?: Points; high?: Points } {
  const count = recorded.x.length;
  if (count <= mostDrawn) return { line };
  const thin: Points = { x: [], y: [] };
  const low: Points = { x: thin.x, y: [] };
  const high: Points = { x: thin.x, y: [] };
  for (let part = 0; part < mostDrawn; ++part) {
    const begin = Math.floor((part * count) / mostDrawn);
    const end = Math.floor(((part + 1) * count) / mostDrawn);
    let [least, most] = [Infinity, -Infinity];
    for (let i = begin; i < end; ++i) {
      const value = recorded.y[i];
      if (value === null) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    thin.x.push(line.x[end - 1]);
    thin.y.push(line.y[end - 1]);
    low.y.push(least === Infinity ? null : least);
    high.y.push(most === -Infinity ? null : most);
  }
  return { line: thin, low, high };
}

/** Runs that agree in these settings, in the order of their first. */
function groupsBy(rows: Row[], key: (row: Row) => string): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return [...groups.values()];
}

export const noGroups = '';
export const bySeeds = '~seeds';

/** Alone, by one setting, or all settings but the seed. */
export function grouped(rows: Row[], by: string): { name: string; rows: Row[] }[] {
  if (by === noGroups) return rows.map((row) => ({ name: row.name, rows: [row] }));
  const but = (row: Row): string => JSON.stringify(Object.entries(row.settings).filter(([name]) => name !== 'seed').map(([name, value]) => [name, textOf(value)]));
  const groups = groupsBy(rows, by === bySeeds ? but : (row) => textOf(row.settings[by]));
  return groups.map((group) => ({
    name: group.length === 1 ? group[0].name : by === bySeeds ? `${group[0].name} (${group.length} seeds)` : `${by}=${textOf(group[0].settings[by])} (${group.length} runs)`,
    rows: group,
  }));
}

/** Mean, least and most of several lines, where all of them have begun and none has ended. */
export function bandOf(lines: Points[]): { mean: Points; low: Points; high: Points } {
  const filled = lines.filter((line) => line.x.length > 0);
  const from = Math.max(...filled.map((line) => line.x[0]));
  const to = Math.min(...filled.map((line) => line.x[line.x.length - 1]));
  const all = [...new Set(filled.flatMap((line) => line.x))].filter((at) => at >= from && at <= to).sort((a, b) => a - b);
  const every = Math.max(1, Math.floor(all.length / mostDrawn));
  const x = all.filter((_, i) => i % every === 0 || i === all.length - 1);
  const given = filled.map((line) => {
    const kept = line.x.map((_, i) => i).filter((i) => line.y[i] !== null);
    return { x: kept.map((i) => line.x[i]), y: kept.map((i) => line.y[i] as number) };
  }).filter((line) => line.x.length > 0);
  const values = x.map((at) => given.map((line) => interpolate(line.x, line.y, at)));
  return {
    mean: { x, y: values.map((list) => list.reduce((sum, one) => sum + one, 0) / list.length) },
    low: { x, y: values.map((list) => Math.min(...list)) },
    high: { x, y: values.map((list) => Math.max(...list)) },
  };
}
