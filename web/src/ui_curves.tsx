// The second screen: curves of the chosen runs, as they grow.
import { useMemo, useState } from 'preact/hooks';
import { useAddressed } from './ui_address';
import { Row } from './ui_api';
import { Chart } from './ui_chart';
import { Chosen, Colored, countOf, drawnRuns, isChosen, toggled } from './ui_chosen';
import { colorOf } from './ui_colors';
import { matches } from './ui_columns';
import { How, linesOf, useCurves } from './ui_lines';
import { bySeeds, metricNames, noGroups, XAxis } from './ui_series';
import { Runs } from './ui_store';
import { SystemCharts } from './ui_system';

const first = ['loss', 'train_loss', 'test_loss', 'test_top1', 'return'];
const axes: [XAxis, string][] = [['step', 'step'], ['epoch', 'epoch'], ['samples', 'images or sequences'], ['tokens', 'tokens'], ['seconds', 'time'], ['cost', 'cost ($)']];
const usual = { axis: 'step', logx: '', logy: '', smooth: '0', by: noGroups as string, machine: '', metrics: '' };
type Settings = typeof usual;
const shareNames = /top\d|accuracy|recall|precision/;
const mostListed = 300;

function Controls({ settings, set, differ, price }: { settings: Settings; set: (change: Partial<Settings>) => void; differ: string[]; price: number | null }) {
  const check = (name: 'logx' | 'logy' | 'machine', text: string) => (
    <label class="tick"><input type="checkbox" checked={settings[name] !== ''} onChange={() => set({ [name]: settings[name] === '' ? '1' : '' })} /> {text}</label>
  );
  return (
    <div class="row">
      <label>
        Against <select value={settings.axis} onChange={(event) => set({ axis: event.currentTarget.value })}>
          {axes.map(([value, text]) => <option key={value} value={value} disabled={value === 'cost' && price === null}>{text}{value === 'cost' && price === null ? ': start with --price' : ''}</option>)}
        </select>
      </label>
      <label>
        Mean and band of <select value={settings.by} onChange={(event) => set({ by: event.currentTarget.value })}>
          <option value={noGroups}>none</option>
          <option value={bySeeds}>seeds</option>
          {differ.filter((name) => name !== 'seed').map((name) => <option key={name} value={name}>the same {name}</option>)}
        </select>
      </label>
      <label>
        Smoothing <input type="range" min="0" max="0.99" step="0.01" value={settings.smooth} onInput={(event) => set({ smooth: event.currentTarget.value })} /> <output class="number">{Number(settings.smooth).toFixed(2)}</output>
      </label>
      {check('logy', 'log y')}
      {check('logx', 'log x')}
      {check('machine', 'machine')}
    </div>
  );
}

/** All runs, to be drawn or not. */
function RunList({ runs, drawn, chosen, choose }: { runs: Runs; drawn: Colored[]; chosen: Chosen; choose: (chosen: Chosen) => void }) {
  const [filter, setFilter] = useState('');
  const colors = new Map(drawn.map(({ row, color }) => [row.id, color]));
  const rows = useMemo(() => [...runs.rows.values()].filter((row) => matches(row, filter)), [runs, filter]);
  // Of the runs that are drawn because nothing is chosen, a click takes one away.
  const toggle = (row: Row): void => choose(toggled(countOf(chosen) > 0 ? chosen : drawn.map((one) => one.row.id), row.id));
  return (
    <section class="card list" aria-label="Runs to draw">
      <div class="head">
        <input type="search" aria-label="Filter runs" placeholder="Filter runs" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <span class="faint small" role="status">{drawn.length} drawn of {runs.rows.size}{countOf(chosen) > 0 && <> · <button class="link small" onClick={() => choose([])}>reset</button></>}</span>
      </div>
      <ul tabIndex={0} aria-label="Runs">
        {rows.slice(0, mostListed).map((row) => {
          const color = colors.get(row.id);
          return (
            <li key={row.id}>
              <label title={row.name}>
                <input type="checkbox" class="swatch" checked={isChosen(chosen, row.id) || color !== undefined} onChange={() => toggle(row)} style={color === undefined ? {} : { '--color': colorOf(color) }} />
                <span>{row.name}</span>
              </label>
            </li>
          );
        })}
        {rows.length > mostListed && <li><label class="faint">{rows.length - mostListed} more: filter them</label></li>}
      </ul>
    </section>
  );
}

export function Curves({ runs, chosen, choose, query }: { runs: Runs; chosen: Chosen; choose: (chosen: Chosen) => void; query: string }) {
  const [settings, set] = useAddressed('curves', query, usual);
  const drawn = useMemo(() => drawnRuns(chosen, runs.rows, [...runs.rows.values()]), [runs, chosen]);
  const rows = useMemo(() => drawn.map(({ row }) => row), [drawn]);
  const curves = useCurves(rows);
  const shown = useMemo(() => rows.flatMap((row) => curves.get(row.id) ?? []), [rows, curves]);
  const names = useMemo(() => metricNames(shown), [shown]);
  const usualMetrics = names.some((name) => first.includes(name)) ? names.filter((name) => first.includes(name)) : names.slice(0, 4);
  const metrics = settings.metrics === '' ? usualMetrics : settings.metrics.split(',');
  const how: How = { axis: settings.axis as XAxis, weight: Number(settings.smooth) || 0, group: settings.by, raw: true };
  const charts = useMemo(
    () => metrics.map((metric) => ({ metric, lines: linesOf(drawn, curves, metric, how, runs.price) })).filter(({ lines }) => lines.length > 0),
    [drawn, curves, settings, metrics.join(), runs.price],
  );
  const toggle = (name: string): void => set({ metrics: (metrics.includes(name) ? metrics.filter((one) => one !== name) : [...metrics, name]).join() });
  const xTitle = axes.find(([axis]) => axis === settings.axis)?.[1] ?? '';
  return (
    <div class="aside">
      <RunList runs={runs} drawn={drawn} chosen={chosen} choose={choose} />
      <div>
        <Controls settings={settings} set={set} differ={runs.differ} price={runs.price} />
        <div class="row" role="group" aria-label="Metrics">
          {names.map((name) => <button key={name} aria-pressed={metrics.includes(name)} class="chip" onClick={() => toggle(name)}>{name}</button>)}
        </div>
        {runs.loaded && rows.length === 0 && <p class="faint">No run has recorded anything yet.</p>}
        {names.length > 0 && charts.length === 0 && <p class="faint">{metrics.length === 0 ? 'Choose a metric above.' : `These runs do not say their ${xTitle}.`}</p>}
        <div class="charts">
          {charts.map(({ metric, lines }) => (
            <Chart key={metric} lines={lines} look={{ title: metric, xTitle, logX: settings.logx !== '', logY: settings.logy !== '', isTime: settings.axis === 'seconds', sync: 'curves', percent: shareNames.test(metric) && settings.logy === '' }} />
          ))}
        </div>
        <SystemCharts runs={drawn} wanted={settings.machine !== ''} />
      </div>
    </div>
  );
}
