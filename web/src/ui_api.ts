// The runs as docs/ui.md describes them: rows of the table, numbers of the curves, what is new.
import { ask, send } from './ask';

export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };
export interface Step { step_ms?: number; input_ms?: number; exposed_ms?: number; compute_ms?: number; memory_bytes?: number }
export interface Row {
  id: string;
  name: string;
  source: 'trainyard' | 'tensorboard' | 'mlflow' | 'jsonl';
  state: 'running' | 'finished' | 'stopped';
  model: Value;
  epochs: Value;
  batch: Value;
  began: string | null;
  host: string | null;
  settings: Record<string, Value>;
  tags: string[];
  note: string;
  last: Record<string, number>;
  best_top1: number | null;
  points: number | null;
  generation: number;
  size: number;
  problem: string;
  measured: Step;
  predicted: Step | null;
  wrong_term: string;
  seconds_left: number | null;
  cost_usd: number | null;
  cost_left_usd: number | null;
}
export interface Rows { differ: string[]; runs: Row[]; gone: string[] }
export interface All extends Rows { version: string; action: string; price: number | null }
export interface Notes { tags: string[]; text: string }
export interface Details {
  id: string;
  name: string;
  source: string;
  state: string;
  directory: string;
  settings: Record<string, Value>;
  machine: Record<string, Value> | null;
  notes: Notes;
  files: { name: string; bytes: number; written: number }[];
  repeat: string;
  problem: string;
}
export type Column = (number | null)[];
/** By name; all are equally long. */
export type Columns = Map<string, Column>;
interface Numbers { generation: number; from: number; next: number; more: boolean; count: number; columns: Record<string, Column> }
/** All lines of a run that were read so far. */
export interface Curve { generation: number; next: number; count: number; columns: Columns }
export const noCurve: Curve = { generation: 0, next: 0, count: 0, columns: new Map() };

export const textOf = (value: Value | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

export const loadRows = (): Promise<All> => ask('/api/runs');
export const loadDetails = (id: string): Promise<Details> => ask(`/api/runs/${id}`);

// What a page must say to change something; it comes with the rows.
let action = '';
export const setAction = (word: string): void => { action = word; };
export const actionHeaders = (): Record<string, string> => ({ 'Content-Type': 'application/json', 'X-Trainyard-Action': action });
export const tell = (path: string, body: unknown = {}): Promise<unknown> => ask(path, { method: 'POST', headers: actionHeaders(), body: JSON.stringify(body) });

function appended(before: Curve, got: Numbers): Columns {
  const columns: Columns = new Map();
  const names = new Set([...before.columns.keys(), ...Object.keys(got.columns)]);
  for (const name of names) {
    const old = before.columns.get(name) ?? new Array<null>(before.count).fill(null);
    columns.set(name, old.concat(got.columns[name] ?? new Array<null>(got.count).fill(null)));
  }
  return columns;
}

/** The curve with what has come since; begun again where the run was cut. */
export async function extend(id: string, old: Curve | undefined): Promise<Curve> {
  let curve: Curve = old ?? noCurve;
  for (;;) {
    const got = await ask<Numbers>(`/api/runs/${id}/metrics?from=${curve.next}&generation=${curve.generation}`);
    const before = got.from === 0 ? noCurve : curve;
    curve = { generation: got.generation, next: got.next, count: before.count + got.count, columns: appended(before, got) };
    if (!got.more) return curve;
  }
}

/** What the machine of a run was busy with, as a curve by time. */
export async function loadSystem(id: string): Promise<Curve> {
  const { columns } = await ask<{ columns: Record<string, Column> }>(`/api/runs/${id}/system`);
  const { at_s: seconds, ...others } = columns;
  return { ...noCurve, count: seconds?.length ?? 0, columns: new Map(Object.entries(seconds ? { seconds, ...others } : {})) };
}

/** Waits for something new after that version, then gives it; nothing if the time was up. */
export async function waitForNews(version: string, signal: AbortSignal): Promise<{ version: string; rows?: Rows }> {
  const response = await send(`/api/events?since=${encodeURIComponent(version)}`, { signal });
  const fields = new Map<string, string>();
  for (const line of (await response.text()).split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get('data');
  return { version: fields.get('id') ?? version, rows: data === undefined ? undefined : (JSON.parse(data) as Rows) };
}
