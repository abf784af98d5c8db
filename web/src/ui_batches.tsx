// The step by its batch: predicted for each device as a line, and own runs as they were measured as points on it.
import { useEffect, useState } from 'preact/hooks';
import { ask } from './ask';
import { Row } from './ui_api';
import { colorOf } from './ui_colors';
import { milliseconds, short } from './ui_text';
import { useWidth } from './ui_width';

interface Answer { rows: { step_ms: number; fits: boolean }[] }
interface Line { device: string; points: { batch: number; step: number; fits: boolean }[] }

const frame = { height: 300, left: 70, right: 20, top: 14, bottom: 44 };
export const thisMachine = 'this';

/** Powers of two around the batches that matter. */
function batchesOf(batch: number, runs: Row[]): number[] {
  const own = runs.map((row) => row.batch).filter((one): one is number => typeof one === 'number' && one > 0);
  const [low, high] = [Math.min(batch, ...own), Math.max(batch, ...own)];
  const from = Math.max(0, Math.floor(Math.log2(low)) - 1);
  const to = Math.min(16, Math.max(from + 4, Math.ceil(Math.log2(high)) + 1));
  return Array.from({ length: Math.min(10, to - from + 1) }, (_, i) => 2 ** (from + i));
}

/** Asked for again when network, devices or precision change, not with each move of the others. */
function useLines(model: string, devices: string[], precision: string, batches: number[]): Line[] {
  const [lines, set] = useState<Line[]>([]);
  const key = JSON.stringify([model, devices, precision, batches]);
  useEffect(() => {
    let last = true;
    const one = async (device: string, batch: number): Promise<{ batch: number; step: number; fits: boolean }[]> => {
      const query = new URLSearchParams({ model, device, batch: String(batch), precision: device === thisMachine ? 'fp32' : precision });
      const answer = await ask<Answer>(`/api/predict?${query.toString()}`).catch(() => undefined);
      return answer ? [{ batch, step: answer.rows[0].step_ms, fits: answer.rows[0].fits }] : [];
    };
    const timer = setTimeout(() => {
      void Promise.all(devices.map(async (device) => ({ device, points: (await Promise.all(batches.map((batch) => one(device, batch)))).flat() }))).then((got) => { if (last) set(got.filter((line) => line.points.length > 0)); });
    }, 150);
    return () => { last = false; clearTimeout(timer); };
  }, [key]);
  return lines;
}

interface Props { model: string; devices: string[]; precision: string; batch: number; runs: Row[] }

export function Batches({ model, devices, precision, batch, runs }: Props) {
  const [box, width] = useWidth<HTMLElement>(560);
  const size = { ...frame, width: width - 26 };
  const own = runs.filter((row) => typeof row.batch === 'number' && row.batch > 0 && row.measured.step_ms !== undefined).slice(0, 500);
  const all = own.length > 0 && !devices.includes(thisMachine) ? [thisMachine, ...devices] : devices;
  const lines = useLines(model, all, precision, batchesOf(batch, own));
  if (lines.length === 0) return <figure class="chart" ref={box} />;
  const xs = [...lines.flatMap((line) => line.points.map((point) => point.batch)), ...own.map((row) => row.batch as number)];
  const ys = [...lines.flatMap((line) => line.points.map((point) => point.step)), ...own.map((row) => row.measured.step_ms as number)];
  const scale = (values: number[], from: number, to: number) => {
    const [low, high] = [Math.log(Math.min(...values)) - 0.08, Math.log(Math.max(...values)) + 0.08];
    return (value: number): number => from + ((Math.log(value) - low) / (high - low)) * (to - from);
  };
  const x = scale(xs, size.left, size.width - size.right);
  const y = scale(ys, size.height - size.bottom, size.top);
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(Math.min(...ys))); power <= Math.log10(Math.max(...ys)); ++power) for (const step of ys.length > 0 && Math.max(...ys) / Math.min(...ys) < 20 ? [1, 2, 5] : [1]) ticks.push(step * 10 ** power);
  const inside = ticks.filter((tick) => tick >= Math.min(...ys) * 0.93 && tick <= Math.max(...ys) * 1.08);
  const color = (device: string): string => (device === thisMachine ? 'var(--text)' : colorOf(devices.indexOf(device)));
  return (
    <figure class="chart" ref={box}>
      <figcaption>Step by batch <span class="faint">one device; lines predicted, points your runs as measured</span></figcaption>
      <svg width={size.width} height={size.height} class="block" role="img" aria-label={`${lines.map((line) => `${line.device}: ${line.points.map((point) => `${point.batch} ${milliseconds(point.step)}`).join(', ')}`).join('; ')}${own.length > 0 ? `; measured: ${own.map((row) => `${row.name} ${String(row.batch)} ${milliseconds(row.measured.step_ms)}`).join(', ')}` : ''}`}>
        {[...new Set(lines.flatMap((line) => line.points.map((point) => point.batch)))].map((one) => <g key={one}><line x1={x(one)} x2={x(one)} y1={size.top} y2={size.height - size.bottom} stroke="var(--soft)" /><text x={x(one)} y={size.height - size.bottom + 16} text-anchor="middle" fill="var(--faint)">{short(one)}</text></g>)}
        {inside.map((tick) => <g key={tick}><line x1={size.left} x2={size.width - size.right} y1={y(tick)} y2={y(tick)} stroke="var(--soft)" /><text x={size.left - 8} y={y(tick) + 4} text-anchor="end" fill="var(--faint)">{milliseconds(tick)}</text></g>)}
        <text x={(size.left + size.width) / 2} y={size.height - 6} text-anchor="middle" fill="var(--faint)">batch of a device</text>
        {lines.map((line) => (
          <g key={line.device}>
            <polyline points={line.points.map((point) => `${x(point.batch)},${y(point.step)}`).join(' ')} fill="none" stroke={color(line.device)} stroke-width="2" stroke-dasharray="6 4" />
            {line.points.map((point) => <circle key={point.batch} cx={x(point.batch)} cy={y(point.step)} r="2.5" fill={color(line.device)}><title>{`${line.device}, batch ${point.batch}: ${milliseconds(point.step)} predicted${point.fits ? '' : ', does not fit'}`}</title></circle>)}
          </g>
        ))}
        {own.map((row) => (
          <circle key={row.id} class="cell measured" cx={x(row.batch as number)} cy={y(row.measured.step_ms as number)} r="5" fill="var(--panel)" stroke="var(--text)" stroke-width="2" onClick={() => { location.hash = `#run/${row.id}`; }}>
            <title>{`${row.name}, batch ${String(row.batch)}: ${milliseconds(row.measured.step_ms)} measured on ${row.host ?? 'an unknown machine'}`}</title>
          </circle>
        ))}
      </svg>
      <div class="legend">
        {lines.map((line) => <span key={line.device}><span class="dot" style={{ background: color(line.device) }} />{line.device === thisMachine ? 'this machine' : line.device}</span>)}
        {own.length > 0 && <span>○ {own.length} {own.length === 1 ? 'run' : 'runs'} of this network</span>}
      </div>
    </figure>
  );
}
