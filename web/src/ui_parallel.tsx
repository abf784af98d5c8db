// Runs as lines over parallel axes: which settings go with which results.
import { useMemo, useState } from 'preact/hooks';
import { Row, textOf } from './ui_api';
import { Column, isThere, shown } from './ui_columns';

const height = 260;
const top = 34;
const bottom = 24;
const most = 1000; // lines

interface Axis { column: Column; place: (row: Row) => number | undefined; ticks: { at: number; text: string }[] }

// 0 is below, 1 above. Words stand at equal distances, in their order.
function axisOf(rows: Row[], column: Column): Axis {
  const values = rows.map((row) => column.value(row)).filter(isThere);
  if (values.length > 0 && values.every((value) => typeof value === 'number')) {
    const numbers = values as number[];
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    const wide = low > 0 && high / low > 50; // by powers
    const scale = (value: number): number => (high === low ? 0.5 : wide ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
    const ends = high === low ? [low] : [low, high];
    return {
      column,
      place: (row) => { const value = column.value(row); return typeof value === 'number' ? scale(value) : undefined; },
      ticks: ends.map((value) => ({ at: scale(value), text: shown(column, value) })),
    };
  }
  const words = [...new Set(values.map(textOf))].sort();
  const at = (word: string): number => (words.length < 2 ? 0.5 : words.indexOf(word) / (words.length - 1));
  return {
    column,
    place: (row) => { const value = column.value(row); return isThere(value) ? at(textOf(value)) : undefined; },
    ticks: (words.length <= 12 ? words : [words[0], words[words.length - 1]]).map((word) => ({ at: at(word), text: word.slice(0, 18) })),
  };
}

/** From blue to orange by the last axis, which is a result. */
const tint = (share: number | undefined): string => (share === undefined ? 'var(--faint)' : `hsl(${Math.round(215 - 190 * share)} 65% 50%)`);

export function Parallel({ rows, axes }: { rows: Row[]; axes: Column[] }) {
  const [under, set] = useState<Row>();
  const made = useMemo(() => axes.map((column) => axisOf(rows, column)), [rows, axes]);
  if (made.length < 2) return <p class="faint">Parallel axes need two settings or results that differ.</p>;
  const apart = Math.max(130, Math.floor((Math.min(innerWidth, 2560) - 210) / (made.length - 1)));
  const width = 130 + apart * (made.length - 1);
  const x = (i: number): number => 48 + i * apart;
  const y = (share: number): number => top + (1 - share) * (height - top - bottom);
  const line = (row: Row): string => made.map((axis, i) => ({ i, at: axis.place(row) })).filter((point) => point.at !== undefined).map((point) => `${x(point.i)},${y(point.at as number).toFixed(1)}`).join(' ');
  const last = made[made.length - 1];
  return (
    <figure class="chart parallel">
      <figcaption>{under ? under.name : `Settings and results of ${Math.min(rows.length, most)} runs`}</figcaption>
      <div class="wide" tabIndex={0} role="region" aria-label="Parallel axes">
        <svg width={width} height={height} role="img" aria-label={`Lines of ${rows.length} runs over ${made.map((axis) => axis.column.title).join(', ')}`} onMouseLeave={() => set(undefined)}>
          {rows.slice(0, most).map((row) => (
            <polyline key={row.id} points={line(row)} fill="none" stroke={tint(last.place(row))} stroke-width={under === row ? 3 : 1.2} stroke-opacity={under && under !== row ? 0.12 : 0.6} onMouseEnter={() => set(row)} onClick={() => { location.hash = `#run/${row.id}`; }} />
          ))}
          {made.map((axis, i) => (
            <g key={axis.column.name}>
              <line x1={x(i)} x2={x(i)} y1={top} y2={height - bottom} stroke="var(--text)" />
              <text x={x(i)} y={14} text-anchor="middle" fill="var(--text)">{axis.column.title.slice(0, 20)}</text>
              {!under && axis.ticks.map((tick) => <text key={tick.text} x={x(i) + 5} y={y(tick.at) + 4} class="halo" fill="var(--faint)">{tick.text}</text>)}
              {under && axis.place(under) !== undefined && <text x={x(i) + 5} y={y(axis.place(under) as number) - 5} class="halo strong" fill="var(--text)">{shown(axis.column, axis.column.value(under), under)}</text>}
            </g>
          ))}
        </svg>
      </div>
    </figure>
  );
}
