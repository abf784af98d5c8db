// The second screen: curves of the chosen runs, as they grow.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Curve, extend, loadSystem, noCurve, Row } from './ui_api';
import { Chart } from './ui_chart';
import { bandOf, bySeeds, Drawn, envelope, grouped, metricNames, noGroups, Points, pointsOf, Scale, smooth, XAxis } from './ui_series';
import { Runs } from './ui_store';

interface Settings { axis: XAxis; logX: boolean; logY: boolean; weight: number; group: string; system: boolean }
type Curves = Map<string, Curve>;

const withoutChoice = 8;
const first = ['loss', 'train_loss', 'test_loss', 'test_top1', 'return'];
const axes: [XAxis, string][] = [['step', 'step'], ['epoch', 'epoch'], ['samples', 'images or sequences'], ['seconds', 'time'], ['cost', 'cost ($)']];
const busyNames: [string, string][] = [
  ['process', 'processors, this run (share)'], ['machine', 'processors, everybody (share)'], ['memory_bytes', 'memory of the run (bytes)'], ['memory', 'memory of the machine (share)'],
  ['read_per_s', 'read from disks (bytes/s)'], ['written_per_s', 'written to disks (bytes/s)'],
  ['gpu', 'GPU (share)'], ['gpu_memory', 'GPU memory (share)'],
];

/** Their curves, read from where the last look ended. */
export function useCurves(rows: Row[], load: (id: string, old: Curve | undefined) => Promise<Curve> = extend): Curves {
  const [curves, set] = useState<Curves>(new Map());
  const reading = useRef(new Set<string>());
  useEffect(() => {
    for (const row of rows) {
      const old = curves.get(row.id);
      const upToDate = old !== undefined && old.generation === row.generation && old.next >= row.size;
      if (upToDate || reading.current.has(row.id)) continue;
      reading.current.add(row.id);
      load(row.id, old)
        .then((curve) => set((all) => new Map(all).set(row.id, curve)), () => undefined) // the next look asks again
        .finally(() => reading.current.delete(row.id));
    }
  }, [rows, curves]);
  return curves;
}

/** Samples of the machine; those of a run are asked for again when it has grown. */
function useSystem(rows: Row[], wanted: boolean): Curves {
  const load = (id: string): Promise<Curve> => {
    const row = rows.find((one) => one.id === id);
    return loadSystem(id).then((curve) => ({ ...curve, generation: row?.generation ?? 0, next: row?.size ?? 0 }));
  };
  return useCurves(wanted ? rows : [], load);
}

function drawn(rows: Row[], curves: Curves, metric: string, settings: Settings, price: number | null): Drawn[] {
  const scaleOf = (row: Row): Scale => ({ batch: typeof row.batch === 'number' ? row.batch : 1, usdPerSecond: (price ?? 0) / 3600 });
  const lineOf = (row: Row): Points => pointsOf(curves.get(row.id) ?? noCurve, metric, settings.axis, scaleOf(row));
  const smoothed = (points: Points): Points => (settings.weight > 0 ? smooth(points, settings.weight) : points);
  const lines: Drawn[] = [];
  grouped(rows, settings.group).forEach((group, color) => {
    const all = group.rows.map(lineOf).filter((points) => points.x.length > 0);
    if (all.length === 0) return;
    if (all.length === 1) {
      const thin = envelope(smoothed(all[0]), all[0]);
      lines.push({ name: group.rows[0].name, color, raw: settings.weight > 0 && !thin.low ? all[0] : undefined, ...thin });
      return;
    }
    const band = bandOf(all.map(smoothed));
    lines.push({ name: `${group.name}, mean`, color, line: band.mean, low: band.low, high: band.high });
  });
  return lines;
}

function Controls({ settings, set, differ, price }: { settings: Settings; set: (settings: Settings) => void; differ: string[]; price: number | null }) {
  const check = (name: 'logX' | 'logY' | 'system', text: string) => (
    <label><input type="checkbox" checked={settings[name]} onChange={() => set({ ...settings, [name]: !settings[name] })} /> {text}</label>
  );
  return (
    <div class="row">
      <label>
        Against <select value={settings.axis} onChange={(event) => set({ ...settings, axis: event.currentTarget.value as XAxis })}>
          {axes.map(([value, text]) => <option key={value} value={value} disabled={value === 'cost' && price === null}>{text}{value === 'cost' && price === null ? ': start with --price' : ''}</option>)}
        </select>
      </label>
      <label>
        Mean and band of <select value={settings.group} onChange={(event) => set({ ...settings, group: event.currentTarget.value })}>
          <option value={noGroups}>none</option>
          <option value={bySeeds}>seeds</option>
          {differ.filter((name) => name !== 'seed').map((name) => <option key={name} value={name}>the same {name}</option>)}
        </select>
      </label>
      {check('logY', 'log y')}
      {check('logX', 'log x')}
      <label>
        Smoothing <input type="range" min="0" max="0.99" step="0.01" value={settings.weight} onInput={(event) => set({ ...settings, weight: Number(event.currentTarget.value) })} /> <output>{settings.weight.toFixed(2)}</output>
      </label>
      {check('system', 'machine')}
    </div>
  );
}

export function SystemCharts({ rows, wanted }: { rows: Row[]; wanted: boolean }) {
  const busy = useSystem(rows, wanted);
  const settings: Settings = { axis: 'seconds', logX: false, logY: false, weight: 0, group: noGroups, system: true };
  const charts = useMemo(() => busyNames.map(([name, title]) => ({ title, lines: drawn(rows, busy, name, settings, null) })).filter(({ lines }) => lines.length > 0), [rows, busy]);
  if (!wanted) return null;
  return (
    <>
      <h2>What the machine was busy with</h2>
      {charts.length === 0 && <p class="faint">These runs have no samples of their machine.</p>}
      <div class="charts">
        {charts.map(({ title, lines }) => <Chart key={title} lines={lines} look={{ title, xTitle: 'time', logX: false, logY: false, isTime: true, sync: 'system' }} />)}
      </div>
    </>
  );
}

export function Curves({ runs, chosen }: { runs: Runs; chosen: string[] }) {
  const [settings, set] = useState<Settings>({ axis: 'step', logX: false, logY: false, weight: 0, group: noGroups, system: false });
  const [wanted, want] = useState<string[]>();
  const rows = useMemo(() => {
    const given = chosen.flatMap((id) => runs.rows.get(id) ?? []);
    return given.length > 0 ? given : [...runs.rows.values()].filter((row) => row.points !== 0).slice(0, withoutChoice);
  }, [runs, chosen]);
  const curves = useCurves(rows);
  const shown = useMemo(() => rows.flatMap((row) => curves.get(row.id) ?? []), [rows, curves]);
  const names = useMemo(() => metricNames(shown), [shown]);
  const metrics = wanted ?? (names.some((name) => first.includes(name)) ? names.filter((name) => first.includes(name)) : names.slice(0, 4));
  const charts = useMemo(
    () => metrics.map((metric) => ({ metric, lines: drawn(rows, curves, metric, settings, runs.price) })).filter(({ lines }) => lines.length > 0),
    [rows, curves, settings, metrics.join()],
  );
  const toggle = (name: string): void => want(metrics.includes(name) ? metrics.filter((one) => one !== name) : [...metrics, name]);
  const xTitle = axes.find(([axis]) => axis === settings.axis)?.[1] ?? '';
  return (
    <>
      <Controls settings={settings} set={set} differ={runs.differ} price={runs.price} />
      <div class="row" role="group" aria-label="Metrics">
        {names.map((name) => <button key={name} aria-pressed={metrics.includes(name)} class={metrics.includes(name) ? 'main' : ''} onClick={() => toggle(name)}>{name}</button>)}
      </div>
      {runs.loaded && rows.length === 0 && <p class="faint">No run has recorded anything yet.</p>}
      {names.length > 0 && charts.length === 0 && <p class="faint">These runs do not say their {xTitle}.</p>}
      <div class="charts">
        {charts.map(({ metric, lines }) => (
          <Chart key={metric} lines={lines} look={{ title: metric, xTitle, logX: settings.logX, logY: settings.logY, isTime: settings.axis === 'seconds', sync: 'curves' }} />
        ))}
      </div>
      <SystemCharts rows={rows} wanted={settings.system} />
    </>
  );
}
