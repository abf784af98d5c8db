// The runs as docs/ui.md describes them: rows of the table, numbers of the curves, what is new.
import { ask, send } from './ask';

export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };
export interface Row {
  id: string;
  name: string;
  state: 'running' | 'finished' | 'stopped';
  model: Value;
  epochs: Value;
  began: string | null;
  settings: Record<string, Value>;
  last: Record<string, number>;
  best_top1: number | null;
  points: number;
  generation: number;
  size: number;
  problem: string;
}
export interface Rows { differ: string[]; runs: Row[]; gone: string[] }
export interface Details {
  id: string;
  name: string;
  state: string;
  directory: string;
  settings: Record<string, Value>;
  machine: Record<string, Value> | null;
  files: { name: string; bytes: number; written: number }[];
  repeat: string;
  problem: string;
}
export type Line = Record<string, number | null>;
interface Numbers { generation: number; from: number; next: number; more: boolean; lines: Line[] }
/** All lines of a run that were read so far. */
export interface Curve { generation: number; next: number; lines: Line[] }

export const textOf = (value: Value | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

export const loadRows = (): Promise<Rows & { version: string }> => ask('/api/runs');
export const loadDetails = (id: string): Promise<Details> => ask(`/api/runs/${id}`);

/** The curve with what has come since; begun again where the run was cut. */
export async function extend(id: string, old: Curve | undefined): Promise<Curve> {
  let curve: Curve = old ?? { generation: 0, next: 0, lines: [] };
  for (;;) {
    const got = await ask<Numbers>(`/api/runs/${id}/metrics?from=${curve.next}&generation=${curve.generation}`);
    const before = got.from === 0 ? [] : curve.lines;
    curve = { generation: got.generation, next: got.next, lines: before.concat(got.lines) };
    if (!got.more) return curve;
  }
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
