// The fourth screen: what a training would take elsewhere. The address holds what was asked.
import { useEffect, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { useAddressed } from './ui_address';
import { Row } from './ui_api';
import { Batches } from './ui_batches';
import { Pareto } from './ui_pareto';
import { Runs } from './ui_store';
import { bytes, dollars, milliseconds, seconds, short } from './ui_text';

export interface Prediction {
  device: string;
  workers: number;
  step_ms: number;
  images_per_s: number;
  efficiency: number | null;
  train_s: number | null;
  cost_usd: number | null;
  memory_bytes: number;
  fits: boolean;
  limit: string;
}
interface Answer { rows: Omit<Prediction, 'device'>[]; notes: string[] }
interface Found { rows: Prediction[]; notes: [string, string[]][]; problems: string[]; took: number }

interface Field { name: string; text: string; value: string; choices?: string[]; powers?: number }
const fields: Field[] = [
  { name: 'model', text: 'model', value: 'resnet50' },
  { name: 'device', text: 'devices to compare', value: 'a100,v100,t4' },
  { name: 'workers', text: 'number of devices', value: '1,2,4,8', powers: 10 },
  { name: 'batch', text: 'batch', value: '32', powers: 13 },
  { name: 'precision', text: 'precision', value: 'fp32', choices: ['fp32', 'tf32', 'fp16', 'fp64', 'int8'] },
  { name: 'scaling', text: 'batch is', value: 'weak', choices: ['weak', 'strong'] },
  { name: 'comm', text: 'exchange', value: 'auto', choices: ['auto', 'ring', 'tree', 'butterfly', 'hierarchical', 'reduce-broadcast', 'central', 'ps'] },
  { name: 'dataset', text: 'data', value: 'imagenet' },
  { name: 'epochs', text: 'epochs', value: '90' },
  { name: 'price', text: '$ per device and hour', value: '' },
];
const shownChoice: Record<string, string> = { weak: 'of each device', strong: 'of all together', ps: 'parameter servers' };

function queryOf(given: Record<string, string>): URLSearchParams {
  const query = new URLSearchParams();
  for (const field of fields) if (given[field.name] !== '') query.set(field.name, given[field.name]);
  return query;
}

const usual: Record<string, string> = Object.fromEntries(fields.map((field) => [field.name, field.value]));

const devicesIn = (text: string): string[] => text.split(',').map((name) => name.trim()).filter((name) => name !== '');

/** One question for each device; one that cannot be answered leaves the others. */
async function predictAll(given: Record<string, string>): Promise<Found> {
  const begin = performance.now();
  const found: Found = { rows: [], notes: [], problems: [], took: 0 };
  const devices = devicesIn(given.device);
  const answers = await Promise.all(devices.map(async (device) => {
    const query = queryOf({ ...given, device });
    return ask<Answer>(`/api/predict?${query.toString()}`).catch((problem: unknown) => `${device}: ${message(problem)}`);
  }));
  answers.forEach((answer, i) => {
    if (typeof answer === 'string') return void found.problems.push(answer);
    found.rows.push(...answer.rows.map((row) => ({ ...row, device: devices[i] })));
    found.notes.push([devices[i], answer.notes]);
    return undefined;
  });
  found.took = performance.now() - begin;
  return found;
}

function Rows({ rows }: { rows: Prediction[] }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Predictions">
      <table>
        <thead>
          <tr>
            <th scope="col">device</th>
            {['devices', 'step', 'images/s', 'efficiency', 'training', 'cost', 'memory of each'].map((title) => <th scope="col" class="number" key={title}>{title}</th>)}
            <th scope="col">limited by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.device} ${row.workers}`}>
              <th scope="row">{row.device}</th>
              <td class="number">{row.workers}</td>
              <td class="number">{milliseconds(row.step_ms)}</td>
              <td class="number">{short(row.images_per_s)}</td>
              <td class="number">{row.efficiency === null ? '–' : `${(100 * row.efficiency).toFixed(0)} %`}</td>
              <td class="number">{row.train_s === null ? '–' : seconds(row.train_s)}</td>
              <td class="number">{row.cost_usd === null ? '–' : dollars(row.cost_usd)}</td>
              <td class="number">{bytes(row.memory_bytes)}{!row.fits && <span class="bad"> does not fit</span>}</td>
              <td>{row.limit}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Own runs of this network, as they were measured. */
function Measured({ rows }: { rows: Row[] }) {
  if (rows.length === 0) return null;
  return (
    <section class="card">
      <h2>Your runs of this network, measured</h2>
      <div class="wide">
        <table>
          <thead><tr><th scope="col">run</th><th scope="col">host</th><th scope="col" class="number">batch</th><th scope="col" class="number">step</th><th scope="col" class="number">predicted</th><th scope="col" class="number">images/s</th></tr></thead>
          <tbody>{rows.slice(0, 20).map((row) => (
            <tr key={row.id}><th scope="row"><a href={`#run/${row.id}`}>{row.name}</a></th><td>{row.host}</td><td class="number">{String(row.batch ?? '')}</td><td class="number">{milliseconds(row.measured.step_ms)}</td><td class="number">{milliseconds(row.predicted?.step_ms)}</td><td class="number">{short(row.last.images_per_s)}</td></tr>
          ))}</tbody>
        </table>
      </div>
    </section>
  );
}

function Control({ field, value, set }: { field: Field; value: string; set: (value: string) => void }) {
  if (field.choices) {
    return <select value={value} onChange={(event) => set(event.currentTarget.value)}>{field.choices.map((one) => <option key={one} value={one}>{shownChoice[one] ?? one}</option>)}</select>;
  }
  const power = Math.round(Math.log2(Number(value.split(',').pop()) || 1));
  // Of a list, the slider moves the end: 1,2,4,8.
  const listed = (exponent: number): string => (field.name === 'workers' ? Array.from({ length: exponent + 1 }, (_, i) => 2 ** i).slice(-6).join() : String(2 ** exponent));
  return (
    <>
      <input value={value} autocomplete="off" spellcheck={false} onInput={(event) => set(event.currentTarget.value)} />
      {field.powers !== undefined && <input type="range" aria-label={`${field.text}, power of two`} min="0" max={field.powers} value={power} onInput={(event) => set(listed(Number(event.currentTarget.value)))} />}
    </>
  );
}

export function Plan({ query, runs }: { query: string; runs: Runs }) {
  const [given, set] = useAddressed('plan', query, usual);
  const [found, setFound] = useState<Found>();
  useEffect(() => {
    let last = true;
    void predictAll(given).then((got) => { if (last) setFound(got); });
    return () => { last = false; };
  }, [given]);
  const own = [...runs.rows.values()].filter((row) => row.model === given.model && row.measured.step_ms !== undefined);
  return (
    <>
      <form class="card fields" onSubmit={(event) => event.preventDefault()}>
        {fields.map((field) => <label key={field.name}>{field.text}<Control field={field} value={given[field.name]} set={(value) => set({ [field.name]: value })} /></label>)}
      </form>
      <div role="status">{found?.problems.map((problem) => <p class="bad" key={problem}>{problem}</p>)}</div>
      {found && found.rows.length > 0 && (
        <>
          <section class="card flush"><Rows rows={found.rows} /></section>
          <div class="charts">
            <Pareto rows={found.rows} />
            <Batches model={given.model} devices={devicesIn(given.device)} precision={given.precision} batch={Number(given.batch.split(',')[0]) || 32} runs={own} />
          </div>
          <div class="columns">
            <Measured rows={own} />
            <section class="card">
              <h2>How this was predicted</h2>
              {found.notes.map(([device, notes]) => <details key={device} open={found.notes.length === 1}><summary>{device}</summary><ul>{notes.map((note) => <li key={note}>{note}</li>)}</ul></details>)}
              <p class="faint">Answered in {found.took.toFixed(0)} ms.</p>
            </section>
          </div>
        </>
      )}
    </>
  );
}
