// What machines of runs were busy with.
import { useMemo } from 'preact/hooks';
import { Curve, loadSystem } from './ui_api';
import { Chart, Look } from './ui_chart';
import { Colored } from './ui_chosen';
import { Curves, linesOf, plain, useCurves } from './ui_lines';
import { Drawn } from './ui_series';

interface Kind { name: string; title: string; percent?: boolean }
const kinds: Kind[] = [
  { name: 'process', title: 'processors, this run', percent: true },
  { name: 'machine', title: 'processors, everybody', percent: true },
  { name: 'memory_bytes', title: 'memory of the run, bytes' },
  { name: 'memory', title: 'memory of the machine', percent: true },
  { name: 'read_per_s', title: 'read from disks, bytes/s' },
  { name: 'written_per_s', title: 'written to disks, bytes/s' },
  { name: 'received_per_s', title: 'network, received bytes/s' },
  { name: 'sent_per_s', title: 'network, sent bytes/s' },
  { name: 'gpu', title: 'GPU busy', percent: true },
  { name: 'gpu_memory', title: 'GPU memory busy', percent: true },
  { name: 'gpu_memory_bytes', title: 'GPU memory in use, bytes' },
  { name: 'gpu_power_w', title: 'GPU power, W' },
  { name: 'gpu_temperature_c', title: 'GPU temperature, °C' },
];
const ofOneGpu = /^gpu\d+$/;

/** Those that were recorded; of several GPUs each one, too. */
function kindsIn(curves: Curves): Kind[] {
  const names = new Set([...curves.values()].flatMap((curve) => [...curve.columns.keys()]));
  const each = [...names].filter((name) => ofOneGpu.test(name)).sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  return [...kinds.filter((kind) => names.has(kind.name)), ...each.map((name) => ({ name, title: `GPU ${name.slice(3)} busy`, percent: true }))];
}

// A disk or a network that nobody used is no picture.
const says = (line: Drawn): boolean => line.line.y.some((value) => value !== null && value !== 0);

/** Samples are asked for again when a run has grown. */
function useSystem(runs: Colored[], wanted: boolean): Curves {
  const load = (id: string): Promise<Curve> => {
    const row = runs.find((one) => one.row.id === id)?.row;
    return loadSystem(id).then((curve) => ({ ...curve, generation: row?.generation ?? 0, next: row?.size ?? 0 }));
  };
  const rows = useMemo(() => (wanted ? runs.map(({ row }) => row) : []), [runs, wanted]);
  return useCurves(rows, load);
}

export function SystemCharts({ runs, wanted }: { runs: Colored[]; wanted: boolean }) {
  const busy = useSystem(runs, wanted);
  const charts = useMemo(() => kindsIn(busy).map((kind) => ({ kind, lines: linesOf(runs, busy, kind.name, { ...plain, axis: 'seconds' }, null) })).filter(({ lines }) => lines.some(says)), [runs, busy]);
  if (!wanted) return null;
  return (
    <>
      <h2>What the machine was busy with</h2>
      {charts.length === 0 && runs.some(({ row }) => !busy.has(row.id)) && <p class="faint">…</p>}
      {charts.length === 0 && runs.every(({ row }) => busy.has(row.id)) && <p class="faint">These runs have no samples of their machine; a run of a second has none.</p>}
      <div class="charts four">
        {charts.map(({ kind, lines }) => {
          const look: Look = { title: kind.title, xTitle: 'time', logX: false, logY: false, isTime: true, sync: 'system', percent: kind.percent, height: 150 };
          return <Chart key={kind.name} lines={lines} look={look} />;
        })}
      </div>
    </>
  );
}
