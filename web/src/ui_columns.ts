// What the table of runs shows of each, and how it is sorted and filtered.
import { Row, textOf, Value } from './ui_api';
import { Runs } from './ui_store';
import { bytes, dollars, milliseconds, percent, seconds, short } from './ui_text';

export interface Column {
  name: string;
  title: string;
  numeric: boolean;
  value: (row: Row) => Value | undefined;
  format?: (value: number) => string;
  text?: (row: Row) => string;
}

const measured: Column[] = [
  { name: 'epoch', title: 'epoch', numeric: true, value: (row) => row.last.epoch, text: (row) => (row.last.epoch === undefined ? '' : `${short(row.last.epoch)}${typeof row.epochs === 'number' ? ` of ${row.epochs}` : ''}`) },
  { name: 'loss', title: 'loss', numeric: true, value: (row) => row.last.train_loss ?? row.last.loss ?? row.last['train/loss'] },
  { name: 'best', title: 'best top-1', numeric: true, value: (row) => row.best_top1, format: percent },
  { name: 'return', title: 'return', numeric: true, value: (row) => row.last.return },
  { name: 'step', title: 'step', numeric: true, value: (row) => row.measured.step_ms, format: milliseconds },
  { name: 'predicted', title: 'predicted', numeric: true, value: (row) => row.predicted?.step_ms, format: milliseconds },
  { name: 'off', title: 'off by', numeric: true, value: offBy, format: (value) => `${value > 0 ? '+' : ''}${(100 * value).toFixed(0)} %` },
  { name: 'memory', title: 'memory', numeric: true, value: (row) => row.measured.memory_bytes, format: bytes },
  { name: 'time', title: 'time', numeric: true, value: (row) => row.last.seconds, format: seconds },
  { name: 'left', title: 'time left', numeric: true, value: (row) => row.seconds_left, format: seconds },
  { name: 'cost', title: 'cost', numeric: true, value: (row) => row.cost_usd, format: dollars },
  { name: 'test_loss', title: 'test loss', numeric: true, value: (row) => row.last.test_loss },
  { name: 'top1', title: 'last top-1', numeric: true, value: (row) => row.last.test_top1, format: percent },
  { name: 'speed', title: 'images/s', numeric: true, value: (row) => row.last.images_per_s },
  { name: 'memory_predicted', title: 'predicted memory', numeric: true, value: (row) => row.predicted?.memory_bytes, format: bytes },
];

/** By what share a measured step is longer than a predicted one. */
export function offBy(row: Row): number | undefined {
  const [is, was] = [row.measured.step_ms, row.predicted?.step_ms];
  return is === undefined || !was ? undefined : is / was - 1;
}

export const isThere = (value: Value | undefined): boolean => value !== undefined && value !== null;
export const settingColumn = (rows: Row[], name: string): Column => ({
  name: `set:${name}`, title: name, numeric: rows.every((row) => ['number', 'undefined'].includes(typeof row.settings[name])), value: (row) => row.settings[name],
});

export function measuredColumns(rows: Row[]): Column[] {
  return measured.filter((column) => rows.some((row) => isThere(column.value(row))));
}

export function columnsOf(runs: Runs): Column[] {
  const rows = [...runs.rows.values()];
  const some = (column: Column, is: (row: Row) => boolean): Column[] => (rows.some(is) ? [column] : []);
  return [
    { name: 'name', title: 'run', numeric: false, value: (row) => row.name },
    { name: 'state', title: 'state', numeric: false, value: (row) => row.state },
    ...some({ name: 'tags', title: 'tags', numeric: false, value: (row) => row.tags.join(', ') }, (row) => row.tags.length > 0),
    ...some({ name: 'source', title: 'written by', numeric: false, value: (row) => row.source }, (row) => row.source !== 'trainyard'),
    ...runs.differ.map((name) => settingColumn(rows, name)),
    ...measuredColumns(rows),
  ];
}

export function shown(column: Column, value: Value | undefined, row?: Row): string {
  if (row && column.text) return column.text(row);
  if (typeof value !== 'number' || !column.numeric) return textOf(value);
  return column.format ? column.format(value) : short(value);
}

/** What is absent comes last, whatever the direction. */
export function compare(a: Value | undefined, b: Value | undefined, down: boolean): number {
  if (!isThere(a) || !isThere(b)) return Number(!isThere(a)) - Number(!isThere(b));
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : textOf(a).localeCompare(textOf(b), undefined, { numeric: true });
  return down ? -order : order;
}

/** Every word must be in the name, the state, a tag, the note or "setting=value". */
export function matches(row: Row, filter: string): boolean {
  const settings = Object.entries(row.settings).map(([name, value]) => `${name}=${textOf(value)}`);
  const text = [row.name, row.state, row.source, textOf(row.model), row.note, ...row.tags.map((tag) => `#${tag}`), ...settings].join('\n').toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
