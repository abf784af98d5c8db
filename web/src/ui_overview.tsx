// Above the table of runs: how they learn, and whether their steps take what was predicted.
import { useMemo } from 'preact/hooks';
import { Row } from './ui_api';
import { Chart, Look } from './ui_chart';
import { Colored } from './ui_chosen';
import { linesOf, plain, useCurves } from './ui_lines';
import { grouped, metricNames, noGroups } from './ui_series';
import { StepChart } from './ui_steps';

const losses = ['loss', 'train_loss', 'train/loss'];
const scores = ['test_top1', 'return', 'test_loss', 'test/loss'];

const mostOfGroups = 40; // runs whose curves are read

/** Runs of a group have one color. */
function coloredByGroup(rows: Row[], by: string): Colored[] {
  return grouped(rows.slice(0, mostOfGroups), by).flatMap((group, color) => group.rows.map((row) => ({ row, color })));
}

interface Props { rows: Row[]; chosen: Colored[]; by: string; price: number | null }

export function Overview({ rows, chosen, by, price }: Props) {
  const drawn = useMemo(() => (by === noGroups ? chosen : coloredByGroup(rows, by)), [rows, chosen, by]);
  const shown = useMemo(() => drawn.map(({ row }) => row), [drawn]);
  const curves = useCurves(shown);
  const charts = useMemo(() => {
    const names = metricNames([...curves.values()]);
    const loss = losses.find((name) => names.includes(name)) ?? names[0];
    const score = scores.find((name) => names.includes(name) && name !== loss) ?? names.find((name) => name !== loss);
    const chart = (metric: string, weight: number): { look: Look; lines: ReturnType<typeof linesOf> } => ({
      look: { title: metric, note: `by step${weight > 0 ? ', smoothed' : ''}${by === noGroups ? '' : ', mean and range'}`, xTitle: 'step', logX: false, logY: false, isTime: false, sync: 'overview', percent: /top\d/.test(metric), height: 222 },
      lines: linesOf(drawn, curves, metric, { ...plain, weight, group: by }, price),
    });
    return [...(loss ? [chart(loss, loss === 'train_loss' ? 0 : 0.9)] : []), ...(score ? [chart(score, 0)] : [])].filter(({ lines }) => lines.length > 0);
  }, [drawn, curves, by, price]);
  if (charts.length === 0) return null;
  return (
    <div class="charts three">
      {charts.map(({ look, lines }) => <Chart key={look.title} look={look} lines={lines} />)}
      <StepChart rows={rows} drawn={drawn} />
    </div>
  );
}
