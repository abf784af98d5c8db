// The second screen: curves of the chosen runs, as they grow.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Curve, extend, Row } from './ui_api';
import { Chart } from './ui_chart';
import { bandOf, Drawn, metricNames, pointsOf, seedGroups, smooth, XAxis } from './ui_series';
import { Runs } from './ui_store';

interface Settings { axis: XAxis; logX: boolean; logY: boolean; weight: number; seeds: boolean }

const withoutChoice = 8;
const first = ['loss', 'train_loss', 'test_loss', 'test_top1', 'return'];
const axes: [XAxis, string][] = [['step', 'step'], ['epoch', 'epoch'], ['seconds', 'time']];

/** Their curves, read from where the last look ended. */
function useCurves(rows: Row[]): Map<string, Curve> {
  const [curves, set] = useState(new Map<string, Curve>());
  const reading = useRef(new Set<string>());
  useEffect(() => {
    for (const row of rows) {
      const old = curves.get(row.id);
      const upToDate = old !== undefined && old.generation === row.generation && old.next >= row.size;
      if (upToDate || reading.current.has(row.id)) continue;
      reading.current.add(row.id);
      extend(row.id, old)
        .then((curve) => set((all) => new Map(all).set(row.id, curve)), () => undefined) // the next look asks again
        .finally(() => reading.current.delete(row.id));
    }
  }, [rows, curves]);
  return curves;
}

function drawn(rows: Row[], curves: Map<string, Curve>, metric: string, settings: Settings): Drawn[] {
  const lineOf = (row: Row) => pointsOf(curves.get(row.id) ?? { generation: 0, next: 0, lines: [] }, metric, settings.axis);
  const smoothed = (points: ReturnType<typeof lineOf>) => (settings.weight > 0 ? smooth(points, settings.weight) : points);
  const groups = settings.seeds ? seedGroups(rows) : rows.map((row) => [row]);
  const lines: Drawn[] = [];
  groups.forEach((group, color) => {
    const all = group.map(lineOf).filter((points) => points.x.length > 0);
    if (all.length === 0) return;
    if (all.length === 1) {
      lines.push({ name: group[0].name, color, line: smoothed(all[0]), raw: settings.weight > 0 ? all[0] : undefined });
      return;
    }
    const band = bandOf(all.map(smoothed));
    lines.push({ name: `${group[0].name} and ${group.length - 1} more seeds, mean`, color, line: band.mean, low: band.low, high: band.high });
  });
  return lines;
}

function Controls({ settings, set }: { settings: Settings; set: (settings: Settings) => void }) {
  const check = (name: 'logX' | 'logY' | 'seeds', text: string) => (
    <label><input type="checkbox" checked={settings[name]} onChange={() => set({ ...settings, [name]: !settings[name] })} /> {text}</label>
  );
  return (
    <div class="row">
      <label>
        Against <select value={settings.axis} onChange={(event) => set({ ...settings, axis: event.currentTarget.value as XAxis })}>
          {axes.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
        </select>
      </label>
      {check('logY', 'log y')}
      {check('logX', 'log x')}
      <label>
        Smoothing <input type="range" min="0" max="0.99" step="0.01" value={settings.weight} onInput={(event) => set({ ...settings, weight: Number(event.currentTarget.value) })} /> <output>{settings.weight.toFixed(2)}</output>
      </label>
      {check('seeds', 'seeds as mean and band')}
    </div>
  );
}

export function Curves({ runs, chosen }: { runs: Runs; chosen: string[] }) {
  const [settings, set] = useState<Settings>({ axis: 'step', logX: false, logY: false, weight: 0, seeds: false });
  const [wanted, want] = useState<string[]>();
  const rows = useMemo(() => {
    const known = chosen.flatMap((id) => runs.rows.get(id) ?? []);
    return known.length > 0 ? known : [...runs.rows.values()].filter((row) => row.points > 0).slice(0, withoutChoice);
  }, [runs, chosen]);
  const curves = useCurves(rows);
  const shown = useMemo(() => rows.flatMap((row) => curves.get(row.id) ?? []), [rows, curves]);
  const names = useMemo(() => metricNames(shown), [shown]);
  const metrics = wanted ?? (names.some((name) => first.includes(name)) ? names.filter((name) => first.includes(name)) : names.slice(0, 4));
  const charts = useMemo(
    () => metrics.map((metric) => ({ metric, lines: drawn(rows, curves, metric, settings) })).filter(({ lines }) => lines.length > 0),
    [rows, curves, settings, metrics.join()],
  );
  const toggle = (name: string): void => want(metrics.includes(name) ? metrics.filter((one) => one !== name) : [...metrics, name]);
  const xTitle = axes.find(([axis]) => axis === settings.axis)?.[1] ?? '';
  return (
    <>
      <Controls settings={settings} set={set} />
      <div class="row" role="group" aria-label="Metrics">
        {names.map((name) => <button key={name} aria-pressed={metrics.includes(name)} class={metrics.includes(name) ? 'main' : ''} onClick={() => toggle(name)}>{name}</button>)}
      </div>
      {rows.length === 0 && <p class="faint">No run has recorded anything yet.</p>}
      <div class="charts">
        {charts.map(({ metric, lines }) => (
          <Chart key={metric} lines={lines} look={{ title: metric, xTitle, logX: settings.logX, logY: settings.logY, isTime: settings.axis === 'seconds' }} />
        ))}
      </div>
    </>
  );
}
