// The first screen: a line per run, or per group of runs.
import { useMemo, useState } from 'preact/hooks';
import { useAddressed } from './ui_address';
import { Row, textOf } from './ui_api';
import { Chosen, Colored, countOf, drawnRuns, isChosen, toggled } from './ui_chosen';
import { colorOf } from './ui_colors';
import { Column, columnsOf, compare, matches, measuredColumns, settingColumn, shown } from './ui_columns';
import { Overview } from './ui_overview';
import { Parallel } from './ui_parallel';
import { grouped } from './ui_series';
import { Runs } from './ui_store';

const shownAtOnce = 100;
const usual = { q: '', by: '', sort: '', parallel: '', charts: '1' };

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
  if (column.name === 'state') return <td><span class={`pill ${row.state}`}>{row.state}</span></td>;
  if (column.name === 'tags') return <td>{row.tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}</td>;
  const flagged = column.name === 'off' && row.wrong_term !== '';
  return <td class={column.numeric ? 'number' : ''}>{flagged && <span class="flag">{row.wrong_term}</span>} {shown(column, column.value(row), row)}</td>;
}

export interface Selection { chosen: Chosen; choose: (chosen: Chosen) => void }
interface Sort { column: string; down: boolean }

function Head({ columns, sort, setSort }: { columns: Column[]; sort: Sort; setSort: (sort: Sort) => void }) {
  return (
    <>
      {columns.map((column) => (
        <th key={column.name} scope="col" class={`${column.numeric ? 'number' : ''} ${column.name.startsWith('set:') ? 'setting' : ''}`} aria-sort={sort.column === column.name ? (sort.down ? 'descending' : 'ascending') : undefined}>
          <button class={`head ${column.name.startsWith('set:') ? 'setting' : ''}`} onClick={() => setSort({ column: column.name, down: sort.column === column.name ? !sort.down : column.numeric })}>
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
  // As their lines are colored above.
  const order = grouped(rows, by).map((group) => group.name);
  const groups = grouped(rows, by).sort((a, b) => compare(setting.value(a.rows[0]), setting.value(b.rows[0]), false));
  return (
    <section class="card flush">
      <div class="wide" tabIndex={0} role="region" aria-label={`Runs by ${by}`}>
        <table class="groups">
          <thead><tr><th scope="col" class="setting">{by}</th><th scope="col" class="number">runs</th>{columns.map((column) => <th key={column.name} scope="col" class="number">{column.title}</th>)}</tr></thead>
          <tbody>
            {groups.map((group) => {
              const value = textOf(setting.value(group.rows[0]));
              return (
                <tr key={value}>
                  <th scope="row"><span class="dot" style={{ background: colorOf(order.indexOf(group.name)) }} /> <button class="link" onClick={() => onOpen(`${by}=${value}`)}>{value === '' ? 'not set' : value}</button></th>
                  <td class="number">{group.rows.length}</td>
                  {columns.map((column) => <Spread key={column.name} rows={group.rows} column={column} />)}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface LinesProps { rows: Row[]; columns: Column[]; selection: Selection; drawn: Colored[]; sort: Sort; setSort: (sort: Sort) => void }

function Lines({ rows, columns, selection, drawn, sort, setSort }: LinesProps) {
  const [most, setMost] = useState(shownAtOnce);
  const { chosen, choose } = selection;
  const colors = new Map(drawn.map(({ row, color }) => [row.id, color]));
  return (
    <section class="card flush">
      <div class="wide" tabIndex={0} role="region" aria-label="Runs">
        <table class="runs">
          <thead><tr><td><span class="hidden">choose</span></td><Head columns={columns} sort={sort} setSort={setSort} /></tr></thead>
          <tbody>
            {rows.slice(0, most).map((row) => {
              const color = colors.get(row.id);
              return (
                <tr key={row.id} class={isChosen(chosen, row.id) ? 'chosen' : ''}>
                  <td><input type="checkbox" class={`swatch ${color === undefined ? '' : 'auto'}`} aria-label={`choose ${row.name}`} checked={isChosen(chosen, row.id)} onChange={() => choose(toggled(chosen, row.id))} style={color === undefined ? {} : { '--color': colorOf(color) }} /></td>
                  {columns.map((column) => <Cell key={column.name} row={row} column={column} />)}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="empty">No run matches this filter.</p>}
      {rows.length > most && <p class="row" style={{ padding: '0.75rem 1rem', margin: 0 }}><button onClick={() => setMost((old) => 4 * old)}>Show more ({(rows.length - most).toLocaleString('en-US')})</button></p>}
    </section>
  );
}

/** Settings first, results behind them, what is the same everywhere left out. */
function axesOf(columns: Column[], rows: Row[]): Column[] {
  const results = ['speed', 'step', 'loss', 'return', 'best'].flatMap((name) => columns.find((column) => column.name === name) ?? []);
  const wanted = [...columns.filter((column) => column.name.startsWith('set:')), ...results];
  return wanted.filter((column) => new Set(rows.map((row) => textOf(column.value(row))).filter((text) => text !== '')).size > 1);
}

function sortOf(text: string): Sort {
  const [column, way] = text.split('!');
  return { column: column || 'name', down: way === 'down' };
}

export function Table({ runs, selection, query }: { runs: Runs; selection: Selection; query: string }) {
  const [state, change] = useAddressed('runs', query, usual);
  const sort = sortOf(state.sort);
  const columns = useMemo(() => columnsOf(runs), [runs]);
  const rows = useMemo(() => {
    const key = columns.find((column) => column.name === sort.column) ?? columns[0];
    return [...runs.rows.values()].filter((row) => matches(row, state.q)).sort((a, b) => compare(key.value(a), key.value(b), sort.down));
  }, [runs, columns, state.q, state.sort]);
  const { chosen, choose } = selection;
  const count = countOf(chosen);
  const drawn = useMemo(() => drawnRuns(chosen, runs.rows, rows), [chosen, runs, rows]);
  const axes = useMemo(() => axesOf(columns, rows), [columns, rows]);
  const tick = (name: 'parallel' | 'charts', text: string) => (
    <label class="tick"><input type="checkbox" checked={state[name] === '1'} onChange={() => change({ [name]: state[name] === '1' ? (name === 'charts' ? '0' : '') : '1' })} /> {text}</label>
  );
  return (
    <>
      <div class="row">
        <label><span class="hidden">Filter</span> <input type="search" value={state.q} placeholder="Filter: batch=64 #tag" onInput={(event) => change({ q: event.currentTarget.value })} /></label>
        <label>
          Group by <select value={state.by} onChange={(event) => change({ by: event.currentTarget.value })}>
            <option value="">nothing</option>
            {runs.differ.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
        {tick('charts', 'charts')}
        {tick('parallel', 'parallel axes')}
        <span class="together push">
          <span class="faint" role="status">{rows.length.toLocaleString('en-US')} of {runs.rows.size.toLocaleString('en-US')} runs{count > 0 && `, ${count} chosen`}</span>
          {count === 0 && <button onClick={() => choose(rows.slice(0, 200).map((row) => row.id))}>Choose these</button>}
          {count > 0 && <button onClick={() => choose([])}>Choose none</button>}
          <a class="button main" href="#curves">Curves{count > 0 && ` of ${count}`}</a>
        </span>
      </div>
      {state.charts === '1' && <Overview rows={rows} chosen={drawn} by={state.by} price={runs.price} />}
      {state.parallel === '1' && <Parallel rows={rows} axes={axes} />}
      {state.by === ''
        ? <Lines rows={rows} columns={columns} selection={selection} drawn={drawn} sort={sort} setSort={(now) => change({ sort: `${now.column}${now.down ? '!down' : ''}` })} />
        : <Groups rows={rows} by={state.by} onOpen={(text) => change({ q: text, by: '' })} />}
    </>
  );
}
