// The first screen: a line per run, or per group of runs.
import { useMemo, useState } from 'preact/hooks';
import { Row, textOf } from './ui_api';
import { Column, columnsOf, compare, matches, measuredColumns, settingColumn, shown } from './ui_columns';
import { colorOf } from './ui_colors';
import { Parallel } from './ui_parallel';
import { grouped } from './ui_series';
import { Runs } from './ui_store';

const shownAtOnce = 200;

function Cell({ row, column }: { row: Row; column: Column }) {
  if (column.name === 'name') {
    return (
      <th scope="row">
        <a href={`#run/${row.id}`}>{row.name}</a>
        {row.problem && <span class="bad" title={row.problem}> ⚠<span class="hidden"> {row.problem}</span></span>}
        {row.note && <span class="faint" title={row.note}> ✎<span class="hidden"> {row.note}</span></span>}
      </th>
    );
  }
  if (column.name === 'state') return <td><span class={`state ${row.state}`}>{row.state}</span></td>;
  if (column.name === 'tags') return <td>{row.tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}</td>;
  const flagged = column.name === 'off' && row.wrong_term !== '';
  return <td class={column.numeric ? 'number' : ''}>{shown(column, column.value(row), row)}{flagged && <span class="bad"> {row.wrong_term}</span>}</td>;
}

export interface Selection { chosen: string[]; choose: (ids: string[]) => void }
interface Sort { column: string; down: boolean }

function Head({ columns, sort, setSort }: { columns: Column[]; sort: Sort; setSort: (change: (old: Sort) => Sort) => void }) {
  return (
    <>
      {columns.map((column) => (
        <th key={column.name} scope="col" class={column.numeric ? 'number' : ''} aria-sort={sort.column === column.name ? (sort.down ? 'descending' : 'ascending') : undefined}>
          <button class="head" onClick={() => setSort((old) => ({ column: column.name, down: old.column === column.name ? !old.down : column.numeric }))}>
            {column.title}{sort.column === column.name ? (sort.down ? ' ↓' : ' ↑') : ''}
          </button>
        </th>
      ))}
    </>
  );
}

/** Mean, and from where to where. */
function Spread({ rows, column }: { rows: Row[]; column: Column }) {
  const values = rows.map((row) => column.value(row)).filter((value): value is number => typeof value === 'number');
  if (values.length === 0) return <td class="number" />;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return (
    <td class="number">
      {shown(column, mean)}
      {least < most && <div class="faint small">{shown(column, least)} – {shown(column, most)}</div>}
    </td>
  );
}

/** A line for each value of a setting. */
function Groups({ rows, by, onOpen }: { rows: Row[]; by: string; onOpen: (filter: string) => void }) {
  const columns = measuredColumns(rows).filter((column) => column.name !== 'epoch');
  const setting = settingColumn(rows, by);
  const groups = grouped(rows, by).sort((a, b) => compare(setting.value(a.rows[0]), setting.value(b.rows[0]), false));
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={`Runs by ${by}`}>
      <table class="runs">
        <thead><tr><th scope="col">{by}</th><th scope="col" class="number">runs</th>{columns.map((column) => <th key={column.name} scope="col" class="number">{column.title}</th>)}</tr></thead>
        <tbody>
          {groups.map((group) => {
            const value = textOf(setting.value(group.rows[0]));
            return (
              <tr key={value}>
                <th scope="row"><button class="link" onClick={() => onOpen(`${by}=${value}`)}>{value === '' ? 'not set' : value}</button></th>
                <td class="number">{group.rows.length}</td>
                {columns.map((column) => <Spread key={column.name} rows={group.rows} column={column} />)}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Lines({ rows, columns, selection, sort, setSort }: { rows: Row[]; columns: Column[]; selection: Selection; sort: Sort; setSort: (change: (old: Sort) => Sort) => void }) {
  const [most, setMost] = useState(shownAtOnce);
  const { chosen, choose } = selection;
  const toggle = (id: string): void => choose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <>
      <div class="wide" tabIndex={0} role="region" aria-label="Runs">
        <table class="runs">
          <thead><tr><td><span class="hidden">choose</span></td><Head columns={columns} sort={sort} setSort={setSort} /></tr></thead>
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

/** Settings first, results behind them, what is the same everywhere left out. */
function axesOf(columns: Column[], rows: Row[]): Column[] {
  const results = ['speed', 'step', 'loss', 'return', 'best'].flatMap((name) => columns.find((column) => column.name === name) ?? []);
  const wanted = [...columns.filter((column) => column.name.startsWith('set:')), ...results];
  return wanted.filter((column) => new Set(rows.map((row) => textOf(column.value(row))).filter((text) => text !== '')).size > 1);
}

export function Table({ runs, selection }: { runs: Runs; selection: Selection }) {
  const [filter, setFilter] = useState('');
  const [by, group] = useState('');
  const [compared, compareAll] = useState(false);
  const [sort, setSort] = useState<Sort>({ column: 'name', down: false });
  const columns = useMemo(() => columnsOf(runs), [runs]);
  const rows = useMemo(() => {
    const key = columns.find((column) => column.name === sort.column) ?? columns[0];
    return [...runs.rows.values()].filter((row) => matches(row, filter)).sort((a, b) => compare(key.value(a), key.value(b), sort.down));
  }, [runs, columns, filter, sort]);
  const { chosen, choose } = selection;
  const axes = useMemo(() => axesOf(columns, rows), [columns, rows]);
  return (
    <>
      <div class="row">
        <label>Filter <input type="search" value={filter} placeholder="batch=64 running #tag" onInput={(event) => setFilter(event.currentTarget.value)} /></label>
        <label>
          Group by <select value={by} onChange={(event) => group(event.currentTarget.value)}>
            <option value="">nothing</option>
            {runs.differ.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
        <label><input type="checkbox" checked={compared} onChange={() => compareAll(!compared)} /> parallel axes</label>
        <span class="faint" role="status">{rows.length} of {runs.rows.size} runs, {chosen.length} chosen</span>
        <button onClick={() => choose(rows.slice(0, shownAtOnce).map((row) => row.id))}>Choose these</button>
        <button onClick={() => choose([])} disabled={chosen.length === 0}>Choose none</button>
        <a class="button" href="#curves">Curves of {chosen.length || 'the first'}</a>
      </div>
      {compared && <Parallel rows={rows} axes={axes} />}
      {by === ''
        ? <Lines rows={rows} columns={columns} selection={selection} sort={sort} setSort={setSort} />
        : <Groups rows={rows} by={by} onOpen={(text) => { setFilter(text); group(''); }} />}
    </>
  );
}
