// The first screen: a line per run.
import { useMemo, useState } from 'preact/hooks';
import { Row, textOf, Value } from './ui_api';
import { Runs } from './ui_store';
import { colorOf } from './ui_colors';
import { percent, seconds, short } from './ui_text';

interface Column { name: string; title: string; numeric: boolean; value: (row: Row) => Value | undefined; text?: (row: Row) => string }

const shownAtOnce = 200;

const measured: Column[] = [
  { name: 'epoch', title: 'epoch', numeric: true, value: (row) => row.last.epoch, text: (row) => (row.last.epoch === undefined ? '' : `${short(row.last.epoch)}${typeof row.epochs === 'number' ? ` of ${row.epochs}` : ''}`) },
  { name: 'loss', title: 'loss', numeric: true, value: (row) => row.last.train_loss ?? row.last.loss },
  { name: 'test_loss', title: 'test loss', numeric: true, value: (row) => row.last.test_loss },
  { name: 'top1', title: 'last top-1', numeric: true, value: (row) => row.last.test_top1, text: (row) => percent(row.last.test_top1) },
  { name: 'best', title: 'best top-1', numeric: true, value: (row) => row.best_top1, text: (row) => percent(row.best_top1) },
  { name: 'return', title: 'return', numeric: true, value: (row) => row.last.return },
  { name: 'speed', title: 'images/s', numeric: true, value: (row) => row.last.images_per_s },
  { name: 'time', title: 'time', numeric: true, value: (row) => row.last.seconds, text: (row) => seconds(row.last.seconds) },
];

function columnsOf(runs: Runs): Column[] {
  const rows = [...runs.rows.values()];
  const has = (column: Column): boolean => rows.some((row) => column.value(row) !== undefined && column.value(row) !== null);
  const settings = runs.differ.map((name): Column => ({
    name: `set:${name}`, title: name, numeric: rows.every((row) => ['number', 'undefined'].includes(typeof row.settings[name])), value: (row) => row.settings[name],
  }));
  return [
    { name: 'name', title: 'run', numeric: false, value: (row) => row.name },
    { name: 'state', title: 'state', numeric: false, value: (row) => row.state },
    ...settings,
    ...measured.filter(has),
  ];
}

// What is absent comes last, whatever the direction.
function compare(a: Value | undefined, b: Value | undefined, down: boolean): number {
  const missing = (value: Value | undefined): boolean => value === undefined || value === null;
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : textOf(a).localeCompare(textOf(b), undefined, { numeric: true });
  return down ? -order : order;
}

/** Every word must be in the name, the state or "setting=value". */
export function matches(row: Row, filter: string): boolean {
  const text = [row.name, row.state, textOf(row.model), ...Object.entries(row.settings).map(([name, value]) => `${name}=${textOf(value)}`)].join('\n').toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function Cell({ row, column }: { row: Row; column: Column }) {
  if (column.name === 'name') {
    return <th scope="row"><a href={`#run/${row.id}`}>{row.name}</a>{row.problem && <span class="bad" title={row.problem}> ⚠<span class="hidden"> {row.problem}</span></span>}</th>;
  }
  if (column.name === 'state') return <td><span class={`state ${row.state}`}>{row.state}</span></td>;
  const value = column.value(row);
  const text = column.text ? column.text(row) : column.numeric && typeof value === 'number' ? short(value) : textOf(value);
  return <td class={column.numeric ? 'number' : ''}>{text}</td>;
}

export interface Selection { chosen: string[]; choose: (ids: string[]) => void }

export function Table({ runs, selection }: { runs: Runs; selection: Selection }) {
  const [filter, setFilter] = useState('');
  const [sort, setSort] = useState({ column: 'name', down: false });
  const [most, setMost] = useState(shownAtOnce);
  const columns = useMemo(() => columnsOf(runs), [runs]);
  const rows = useMemo(() => {
    const by = columns.find((column) => column.name === sort.column) ?? columns[0];
    return [...runs.rows.values()].filter((row) => matches(row, filter)).sort((a, b) => compare(by.value(a), by.value(b), sort.down));
  }, [runs, columns, filter, sort]);
  const { chosen, choose } = selection;
  const toggle = (id: string): void => choose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <>
      <div class="row">
        <label>Filter <input type="search" value={filter} placeholder="batch=64 running" onInput={(event) => setFilter(event.currentTarget.value)} /></label>
        <span class="faint" role="status">{rows.length} of {runs.rows.size} runs, {chosen.length} chosen</span>
        <button onClick={() => choose(rows.slice(0, shownAtOnce).map((row) => row.id))}>Choose these</button>
        <button onClick={() => choose([])} disabled={chosen.length === 0}>Choose none</button>
        <a class="button" href="#curves">Curves of {chosen.length || 'the first'}</a>
      </div>
      <div class="wide" tabIndex={0} role="region" aria-label="Runs">
        <table class="runs">
          <thead>
            <tr>
              <td><span class="hidden">choose</span></td>
              {columns.map((column) => (
                <th key={column.name} scope="col" class={column.numeric ? 'number' : ''} aria-sort={sort.column === column.name ? (sort.down ? 'descending' : 'ascending') : undefined}>
                  <button class="head" onClick={() => setSort((old) => ({ column: column.name, down: old.column === column.name ? !old.down : column.numeric }))}>
                    {column.title}{sort.column === column.name ? (sort.down ? ' ↓' : ' ↑') : ''}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row) => (
              <tr key={row.id} class={chosen.includes(row.id) ? 'chosen' : ''}>
                <td>
                  <input type="checkbox" aria-label={`choose ${row.name}`} checked={chosen.includes(row.id)} onChange={() => toggle(row.id)} style={chosen.includes(row.id) ? { accentColor: colorOf(chosen.indexOf(row.id)) } : {}} />
                </td>
                {columns.map((column) => <Cell key={column.name} row={row} column={column} />)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > most && <p><button onClick={() => setMost((old) => old + shownAtOnce)}>Show more ({rows.length - most})</button></p>}
    </>
  );
}
