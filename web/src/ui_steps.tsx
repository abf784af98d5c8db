// A step of each run, measured beside predicted: what lies on the line was predicted right.
import { Row } from './ui_api';
import { Colored } from './ui_chosen';
import { colorOf } from './ui_colors';
import { offBy } from './ui_columns';
import { milliseconds } from './ui_text';
import { useWidth } from './ui_width';

const frame = { height: 222, left: 74, right: 14, top: 8, bottom: 38 };
const most = 2000;

interface Scale { at: (value: number) => number; ticks: number[] }

/** By powers: 1, 2, 5, 10. A tick is left out where its text has less than `room` pixels, or would stand over the end. */
function scaleOf(values: number[], from: number, to: number, room: number): Scale {
  const [low, high] = [Math.min(...values) / 1.35, Math.max(...values) * 1.35];
  const at = (value: number): number => from + (Math.log(value / low) / Math.log(high / low)) * (to - from);
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) for (const step of [1, 2, 5]) ticks.push(step * 10 ** power);
  const inside = ticks.filter((tick) => tick >= low && tick <= high);
  const few = inside.filter((tick) => /^1/.test(String(tick.toExponential())));
  const spaced: number[] = [];
  for (const tick of inside.length > 6 && few.length > 1 ? few : inside) {
    const near = (place: number): boolean => Math.abs(at(tick) - place) < room;
    if (Math.abs(at(tick) - to) >= room / 2 && !(spaced.length > 0 && near(at(spaced[spaced.length - 1])))) spaced.push(tick);
  }
  return { at, ticks: spaced };
}

export function StepChart({ rows, drawn }: { rows: Row[]; drawn: Colored[] }) {
  const [box, width] = useWidth<HTMLDivElement>(400);
  const size = { ...frame, width };
  const known = rows.filter((row) => row.measured.step_ms && row.predicted?.step_ms).slice(0, most);
  if (known.length === 0) {
    const measured = rows.some((row) => row.measured.step_ms !== undefined);
    return (
      <figure class="chart">
        <figcaption>Step time</figcaption>
        <div class="empty">{measured ? <><p>Steps are measured, but not predicted yet.</p><p><code>trainyard calibrate</code> measures this machine once.</p></> : <p>No run has measured a step yet.</p>}</div>
      </figure>
    );
  }
  const values = known.flatMap((row) => [row.measured.step_ms as number, row.predicted?.step_ms as number]);
  const x = scaleOf(values, size.left, size.width - size.right, 52);
  const y = scaleOf(values, size.height - size.bottom, size.top, 16);
  const [low, high] = [Math.min(...values) / 1.35, Math.max(...values) * 1.35];
  const colors = new Map(drawn.map(({ row, color }) => [row.id, color]));
  const off = known.map((row) => Math.abs(offBy(row) ?? 0));
  const close = off.filter((one) => one <= 0.25).length;
  const sorted = [...known].sort((a, b) => Number(colors.has(a.id)) - Number(colors.has(b.id)));
  const corner = (factor: number, from: number, to: number): string => `${x.at(from)},${y.at(Math.min(high, Math.max(low, factor * from)))} ${x.at(to)},${y.at(Math.min(high, Math.max(low, factor * to)))}`;
  return (
    <figure class="chart">
      <figcaption>Step time <span class="faint">{close} of {known.length} within 25 % of predicted</span></figcaption>
      <div ref={box}>
      <svg width={size.width} height={size.height} class="block" role="img" aria-label={`${known.length} runs; of ${close} the step is within a quarter of what was predicted`}>
        <polygon points={`${corner(0.75, low, high)} ${corner(1.25, high, low)}`} fill="var(--wash)" />
        {x.ticks.map((tick) => <g key={tick}><line x1={x.at(tick)} x2={x.at(tick)} y1={size.top} y2={size.height - size.bottom} stroke="var(--soft)" /><text x={x.at(tick)} y={size.height - size.bottom + 16} text-anchor="middle" fill="var(--faint)">{milliseconds(tick)}</text></g>)}
        {y.ticks.map((tick) => <g key={tick}><line x1={size.left} x2={size.width - size.right} y1={y.at(tick)} y2={y.at(tick)} stroke="var(--soft)" /><text x={size.left - 8} y={y.at(tick) + 4} text-anchor="end" fill="var(--faint)">{milliseconds(tick)}</text></g>)}
        <line x1={x.at(low)} y1={y.at(low)} x2={x.at(high)} y2={y.at(high)} stroke="var(--faint)" stroke-dasharray="4 3" />
        <text x={(size.left + size.width - size.right) / 2} y={size.height - 6} text-anchor="middle" fill="var(--faint)">predicted</text>
        <text transform={`translate(11 ${(size.top + size.height - size.bottom) / 2}) rotate(-90)`} text-anchor="middle" fill="var(--faint)">measured</text>
        {sorted.map((row) => {
          const color = colors.get(row.id);
          return (
            <circle key={row.id} cx={x.at(row.predicted?.step_ms as number)} cy={y.at(row.measured.step_ms as number)} r={color === undefined ? 3.5 : 5} class="cell" fill={color === undefined ? 'var(--faint)' : colorOf(color)} fill-opacity={color === undefined ? 0.45 : 0.95} onClick={() => { location.hash = `#run/${row.id}`; }}>
              <title>{`${row.name}: measured ${milliseconds(row.measured.step_ms)}, predicted ${milliseconds(row.predicted?.step_ms)}${row.wrong_term ? `, most of the difference is ${row.wrong_term}` : ''}`}</title>
            </circle>
          );
        })}
      </svg>
      </div>
    </figure>
  );
}
