// The fourth screen: what a training would take elsewhere. The address holds what was asked.
import { useEffect, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { bytes, seconds, short } from './ui_text';

interface Prediction {
  workers: number;
  step_ms: number;
  images_per_s: number;
  efficiency: number;
  train_s: number | null;
  cost_usd: number | null;
  memory_bytes: number;
  fits: boolean;
  limit: string;
}
interface Answer { rows: Prediction[]; notes: string[] }

const fields: { name: string; text: string; value: string; choices?: string[] }[] = [
  { name: 'model', text: 'model', value: 'resnet50' },
  { name: 'device', text: 'device', value: 'a100' },
  { name: 'workers', text: 'devices', value: '1,2,4,8' },
  { name: 'batch', text: 'batch', value: '32' },
  { name: 'precision', text: 'precision', value: 'fp32', choices: ['fp32', 'tf32', 'fp16', 'fp64', 'int8'] },
  { name: 'scaling', text: 'batch is', value: 'weak', choices: ['weak', 'strong'] },
  { name: 'dataset', text: 'data', value: 'imagenet' },
  { name: 'epochs', text: 'epochs', value: '90' },
  { name: 'price', text: '$ per device and hour', value: '' },
];
const shownChoice: Record<string, string> = { weak: 'of each device', strong: 'of all together' };

function queryOf(given: Record<string, string>): string {
  const query = new URLSearchParams();
  for (const field of fields) if (given[field.name] !== '') query.set(field.name, given[field.name]);
  return query.toString();
}

function fromAddress(query: string): Record<string, string> {
  const given = new URLSearchParams(query);
  return Object.fromEntries(fields.map((field) => [field.name, given.get(field.name) ?? field.value]));
}

function Rows({ rows }: { rows: Prediction[] }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Predictions">
      <table>
        <thead>
          <tr>
            {['devices', 'step', 'images/s', 'efficiency', 'training', 'cost', 'memory of each'].map((title) => <th scope="col" class="number" key={title}>{title}</th>)}
            <th scope="col">limited by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.workers}>
              <td class="number">{row.workers}</td>
              <td class="number">{short(row.step_ms)} ms</td>
              <td class="number">{short(row.images_per_s)}</td>
              <td class="number">{(100 * row.efficiency).toFixed(0)} %</td>
              <td class="number">{row.train_s === null ? '–' : seconds(row.train_s)}</td>
              <td class="number">{row.cost_usd === null ? '–' : `$${short(Number(row.cost_usd.toFixed(2)))}`}</td>
              <td class="number">{bytes(row.memory_bytes)}{!row.fits && <span class="bad"> does not fit</span>}</td>
              <td>{row.limit}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Plan({ query }: { query: string }) {
  const [given, set] = useState(fromAddress(query));
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => {
    let last = true;
    const timer = setTimeout(() => {
      history.replaceState(null, '', `#plan?${queryOf(given)}`);
      ask<Answer>(`/api/predict?${queryOf(given)}`).then(
        (got) => { if (last) { setAnswer(got); setProblem(undefined); } },
        (error: unknown) => { if (last) setProblem(error); },
      );
    }, 150);
    return () => { last = false; clearTimeout(timer); };
  }, [given]);
  return (
    <>
      <form class="fields" onSubmit={(event) => event.preventDefault()}>
        {fields.map(({ name, text, choices }) => (
          <label key={name}>
            {text}
            {choices ? (
              <select value={given[name]} onChange={(event) => set({ ...given, [name]: event.currentTarget.value })}>{choices.map((one) => <option key={one} value={one}>{shownChoice[one] ?? one}</option>)}</select>
            ) : (
              <input value={given[name]} autocomplete="off" spellcheck={false} onInput={(event) => set({ ...given, [name]: event.currentTarget.value })} />
            )}
          </label>
        ))}
      </form>
      <div role="status">
        {problem !== undefined && <p class="bad">{message(problem)}</p>}
      </div>
      {answer && problem === undefined && <><Rows rows={answer.rows} /><h2>How this was predicted</h2><ul>{answer.notes.map((note) => <li key={note}>{note}</li>)}</ul></>}
    </>
  );
}
