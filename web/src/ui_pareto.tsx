// Time against cost: what is neither slower nor dearer than another stands on the line.
import { colorOf } from './ui_colors';
import type { Prediction } from './ui_plan';
import { dollars, seconds } from './ui_text';
import { useWidth } from './ui_width';

const frame = { height: 300, left: 64, right: 20, top: 14, bottom: 44 };

interface Point { row: Prediction; time: number; cost: number }

function best(points: Point[]): Point[] {
  const sorted = [...points].filter((point) => point.row.fits).sort((a, b) => a.time - b.time || a.cost - b.cost);
  let least = Infinity;
  return sorted.filter((point) => { const better = point.cost < least; least = Math.min(least, point.cost); return better; });
}

/** By powers, since devices differ by them; a little wider than the points. */
function scaleOf(values: number[], from: number, to: number): (value: number) => number {
  const [low, high] = [Math.log(Math.min(...values)) - 0.1, Math.log(Math.max(...values)) + 0.1];
  return (value) => from + ((Math.log(value) - low) / (high - low)) * (to - from);
}

const ends = (values: number[]): number[] => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return high / low < 1.05 ? [low] : [low, Math.sqrt(low * high), high];
};

export function Pareto({ rows }: { rows: Prediction[] }) {
  const [box, width] = useWidth<HTMLDivElement>(560);
  const size = { ...frame, width };
  const points = rows.flatMap((row) => (row.train_s && row.cost_usd ? [{ row, time: row.train_s, cost: row.cost_usd }] : []));
  if (points.length < 2) return <p class="card faint">With prices and two rows or more, time is drawn against cost here.</p>;
  const x = scaleOf(points.map((point) => point.time), size.left, size.width - size.right);
  const y = scaleOf(points.map((point) => point.cost), size.height - size.bottom, size.top);
  const devices = [...new Set(points.map((point) => point.row.device))];
  const line = best(points);
  return (
    <figure class="chart">
      <figcaption>Time and cost <span class="faint">of the whole training, predicted; on the line nothing is both faster and cheaper</span></figcaption>
      <div ref={box}>
        <svg width={size.width} height={size.height} class="block" role="img" aria-label={`On the line of what nothing beats: ${line.map((point) => `${point.row.workers} ${point.row.device}, ${seconds(point.time)}, ${dollars(point.cost)}`).join('; ')}`}>
          <polyline points={line.map((point) => `${x(point.time)},${y(point.cost)}`).join(' ')} fill="none" stroke="var(--faint)" stroke-dasharray="4 3" />
          <line x1={size.left} x2={size.width - size.right} y1={size.height - size.bottom} y2={size.height - size.bottom} stroke="var(--line)" /><line x1={size.left} x2={size.left} y1={size.top} y2={size.height - size.bottom} stroke="var(--line)" />
          {ends(points.map((point) => point.time)).map((time) => <text key={time} x={Math.min(x(time), size.width - 30)} y={size.height - 24} text-anchor="middle" fill="var(--faint)">{seconds(time)}</text>)}
          {ends(points.map((point) => point.cost)).map((cost) => <text key={cost} x={size.left - 8} y={y(cost) + 4} text-anchor="end" fill="var(--faint)">{dollars(Number(cost.toPrecision(3)))}</text>)}
          <text x={(size.left + size.width) / 2} y={size.height - 6} text-anchor="middle" fill="var(--text)">time</text>
          {points.map((point) => (
            <g key={`${point.row.device} ${point.row.workers}`}>
              <circle cx={x(point.time)} cy={y(point.cost)} r={5} fill={colorOf(devices.indexOf(point.row.device))} fill-opacity={point.row.fits ? 1 : 0.25}><title>{`${point.row.workers} × ${point.row.device}: ${seconds(point.time)}, ${dollars(point.cost)}`}</title></circle>
              <text x={x(point.time)} y={y(point.cost) - 8} text-anchor="middle" class="halo" fill="var(--text)">{point.row.workers}</text>
            </g>
          ))}
        </svg>
      </div>
      <div class="legend">{devices.map((device, i) => <span key={device}><span class="dot" style={{ background: colorOf(i) }} />{device}</span>)}<span>numbers are devices</span></div>
    </figure>
  );
}
