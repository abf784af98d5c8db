// One chart of curves, drawn by uPlot; the cursors of all charts move together.
import { useEffect, useRef } from 'preact/hooks';
import uPlot, { AlignedData, Band, Options, Series } from 'uplot';
import style from 'uplot/dist/uPlot.min.css';
import { colorOf } from './ui_colors';
import { Drawn, Points } from './ui_series';
import { seconds, short, tick } from './ui_text';

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

export interface Look { title: string; xTitle: string; logX: boolean; logY: boolean; isTime: boolean; sync: string }
interface Parts { data: AlignedData; series: Series[]; bands: Band[] }

const height = 280;

// Logarithms have no zero.
const positive = (points: Points, look: Look): Points => {
  const x = look.logX ? points.x.map((_, i) => i).filter((i) => points.x[i] > 0) : points.x.map((_, i) => i);
  return { x: x.map((i) => points.x[i]), y: x.map((i) => (look.logY && !((points.y[i] ?? 1) > 0) ? null : points.y[i])) };
};

function parts(lines: Drawn[], look: Look): Parts {
  const tables: Points[] = [];
  const series: Series[] = [{ label: look.xTitle, value: (_, value) => (value === null || value === undefined ? '–' : look.isTime ? seconds(value) : short(value)) }];
  const bands: Band[] = [];
  const add = (points: Points, one: Series): number => {
    tables.push(positive(points, look));
    // Where another line has a point and this one none, it goes on.
    return series.push({ spanGaps: true, points: { show: points.x.length < 40, size: 5 }, value: (_, value) => (value === null || value === undefined ? '–' : short(value)), ...one }) - 1;
  };
  for (const line of lines) {
    const stroke = colorOf(line.color);
    const quiet: Series = { class: 'quiet', points: { show: false } };
    if (line.raw) add(line.raw, { ...quiet, label: `${line.name}, not smoothed`, stroke: `${stroke}55`, width: 1 });
    if (line.low && line.high) {
      const low = add(line.low, { ...quiet, label: `${line.name}, least`, stroke: 'transparent', width: 0 });
      const high = add(line.high, { ...quiet, label: `${line.name}, most`, stroke: 'transparent', width: 0 });
      bands.push({ series: [high, low], fill: `${stroke}33` });
    }
    add(line.line, { label: line.name, stroke, width: 2 });
  }
  const data = tables.length === 0 ? ([[]] as unknown as AlignedData) : uPlot.join(tables.map((table) => [table.x, table.y] as AlignedData));
  return { data, series, bands };
}

function optionsOf(box: HTMLElement, made: Parts, look: Look): Options {
  const css = getComputedStyle(document.documentElement);
  const text = css.getPropertyValue('--faint').trim();
  const axis = { stroke: text, grid: { stroke: css.getPropertyValue('--line').trim(), width: 1 }, ticks: { stroke: css.getPropertyValue('--line').trim(), width: 1 } };
  const log = { distr: 3 as const, log: 10 as const };
  return {
    width: box.clientWidth,
    height,
    padding: [8, 28, 0, 0], // the last label is wider than its tick
    series: made.series,
    bands: made.bands,
    cursor: { sync: { key: look.sync }, focus: { prox: 24 } },
    focus: { alpha: 0.3 },
    scales: { x: { time: false, ...(look.logX ? log : {}) }, y: look.logY ? log : {} },
    axes: [
      { ...axis, label: look.xTitle, labelSize: 22, size: 34, values: (_, splits) => splits.map((value) => (value === null ? '' : look.isTime ? seconds(value) : tick(value))) },
      { ...axis, size: 62, values: (_, splits) => splits.map((value) => (value === null ? '' : tick(value))) },
    ],
  };
}

/** Drawn anew when what it shows changes in kind; with new points only its data are set. */
export function Chart({ lines, look }: { lines: Drawn[]; look: Look }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const shape = JSON.stringify([look, lines.map((line) => [line.name, line.color, line.raw !== undefined, line.low !== undefined, line.line.x.length < 40])]);
  useEffect(() => {
    if (!box.current) return undefined;
    const target = box.current;
    const made = parts(lines, look);
    const drawn = new uPlot(optionsOf(target, made, look), made.data, target);
    plot.current = drawn;
    const fit = new ResizeObserver(() => drawn.setSize({ width: target.clientWidth, height }));
    fit.observe(target);
    return () => {
      fit.disconnect();
      drawn.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(parts(lines, look).data), [lines]);
  const last = lines.map((line) => `${line.name} ${short(line.line.y[line.line.y.length - 1] ?? NaN)}`).join(', ');
  return (
    <figure class="chart" aria-label={`${look.title} by ${look.xTitle}; at the end: ${last}`}>
      <figcaption>{look.title}</figcaption>
      <div ref={box} />
    </figure>
  );
}
