// How weights, gradients and activations were spread, step by step: one ridge behind the other.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask } from './ask';
import { short, tick } from './ui_text';

interface Step { step: number; least: number; most: number; mean: number; deviation: number; counts: number[] }
interface Histograms { name: string; low: number; high: number; steps: Step[] }

const size = { width: 520, left: 14, right: 64, ridge: 62, bottom: 24 };
const kinds: [string, string][] = [['state/', 'weights and states'], ['gradient/', 'gradients'], ['activation/', 'activations']];

const kindOf = (name: string): string => kinds.find(([begins]) => name.startsWith(begins))?.[1] ?? 'others';

function Ridges({ shown }: { shown: Histograms }) {
  const [under, hover] = useState<Step>();
  const count = shown.steps.length;
  const apart = Math.max(4, Math.min(22, 220 / Math.max(1, count)));
  const height = size.ridge + apart * count + size.bottom;
  const x = (part: number): number => size.left + (part / shown.steps[0].counts.length) * (size.width - size.left - size.right);
  const y = (i: number): number => size.ridge + apart * i;
  const path = (step: Step, i: number): string => {
    const most = Math.max(...step.counts, 1e-30);
    const points = step.counts.map((value, part) => `${x(part + 0.5).toFixed(1)},${(y(i) - (size.ridge - 6) * (value / most)).toFixed(1)}`);
    return `M${x(0)},${y(i)} L${points.join(' ')} L${x(step.counts.length)},${y(i)}`;
  };
  const value = (part: number): number => shown.low + (part / shown.steps[0].counts.length) * (shown.high - shown.low);
  const parts = shown.steps[0].counts.length;
  return (
    <>
      <svg viewBox={`0 0 ${size.width} ${height}`} class="fit" style={{ maxWidth: '46rem' }} role="img" aria-label={`${shown.name} in ${count} steps; in the last one from ${short(shown.steps[count - 1].least)} to ${short(shown.steps[count - 1].most)}, mean ${short(shown.steps[count - 1].mean)}, deviation ${short(shown.steps[count - 1].deviation)}`} onMouseLeave={() => hover(undefined)}>
        {[0, parts / 4, parts / 2, (3 * parts) / 4, parts].map((part) => (
          <g key={part}>
            <line x1={x(part)} x2={x(part)} y1={10} y2={height - size.bottom} stroke="var(--soft)" />
            <text x={x(part)} y={height - 6} text-anchor="middle" fill="var(--faint)">{tick(Number(value(part).toPrecision(3)))}</text>
          </g>
        ))}
        {shown.steps.map((step, i) => (
          <g key={step.step} onMouseEnter={() => hover(step)}>
            <path d={path(step, i)} fill={`color-mix(in srgb, var(--mark) ${Math.round(25 + (65 * (i + 1)) / count)}%, var(--panel))`} stroke="var(--panel)" stroke-width={under === step ? 0 : 1} fill-opacity={under && under !== step ? 0.55 : 0.95} />
            {(i === 0 || i === count - 1 || apart * (count - 1 - i) > 14) && (apart >= 12 || i % Math.ceil(14 / apart) === 0 || i === count - 1) && <text x={size.width - size.right + 8} y={y(i) + 3} fill="var(--faint)">{tick(step.step)}</text>}
          </g>
        ))}
      </svg>
      <p class="faint small" role="status">{((step) => `Step ${short(step.step)}: ${short(step.least)} to ${short(step.most)}, mean ${short(step.mean)}, deviation ${short(step.deviation)}`)(under ?? shown.steps[count - 1])}</p>
    </>
  );
}

/** Nothing where the run has recorded none: `train --histograms` does. */
export function HistogramPart({ id, size: written }: { id: string; size: number }) {
  const [names, setNames] = useState<string[]>([]);
  const [name, choose] = useState('');
  const [shown, show] = useState<Histograms>();
  useEffect(() => {
    ask<{ names: string[] }>(`/api/runs/${id}/histograms`).then((got) => setNames(got.names), () => setNames([]));
  }, [id, written]);
  const groups = useMemo(() => {
    const all = new Map<string, string[]>();
    for (const one of names) all.set(kindOf(one), [...(all.get(kindOf(one)) ?? []), one]);
    return [...all];
  }, [names]);
  const wanted = names.includes(name) ? name : names.find((one) => one.startsWith('state/') && !one.includes('optimizer.')) ?? names[0];
  useEffect(() => {
    let last = true;
    if (wanted) ask<Histograms>(`/api/runs/${id}/histograms?name=${encodeURIComponent(wanted)}`).then((got) => { if (last) show(got); }, () => { if (last) show(undefined); });
    return () => { last = false; };
  }, [id, wanted, written]);
  if (names.length === 0) return null;
  return (
    <section class="card">
      <h2>Histograms</h2>
      <div class="row">
        <label>
          Of <select value={wanted} onChange={(event) => choose(event.currentTarget.value)}>
            {groups.map(([kind, list]) => <optgroup key={kind} label={kind}>{list.map((one) => <option key={one} value={one}>{one}</option>)}</optgroup>)}
          </select>
        </label>
      </div>
      {shown && shown.steps.length > 0 && <Ridges shown={shown} />}
    </section>
  );
}
