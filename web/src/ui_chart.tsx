// One chart of curves, drawn by uPlot; the cursors of all charts move together, each with the values under it.
import { useEffect, useRef } from 'preact/hooks';
import uPlot, { AlignedData, Band, Options, Plugin, Series } from 'uplot';
import style from 'uplot/dist/uPlot.min.css';
import { colorOf } from './ui_colors';
import { noteChart } from './ui_save';
import { Drawn, Points } from './ui_series';
import { seconds, short, tick } from './ui_text';
import { colorNamed, useTheme } from './ui_theme';

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

export interface Look { title: string; note?: string; xTitle: string; logX: boolean; logY: boolean; isTime: boolean; sync: string; percent?: boolean; height?: number }
interface Parts { data: AlignedData; series: Series[]; bands: Band[] }

const usualHeight = 250;
const mostNamed = 10; // in the box under the cursor

// Logarithms have no zero.
const positive = (points: Points, look: Look): Points => {
  if (!look.logX && !look.logY) return points;
  const x = look.logX ? points.x.map((_, i) => i).filter((i) => points.x[i] > 0) : points.x.map((_, i) => i);
  return { x: x.map((i) => points.x[i]), y: x.map((i) => (look.logY && !((points.y[i] ?? 1) > 0) ? null : points.y[i])) };
};

const written = (value: number, look: Look): string => (look.percent ? `${Number((100 * value).toPrecision(4))} %` : short(value));

function parts(lines: Drawn[], look: Look): Parts {
  const tables: Points[] = [];
  const series: Series[] = [{ label: look.xTitle }];
  const bands: Band[] = [];
  const add = (points: Points, one: Series): number => {
    tables.push(positive(points, look));
    // Where another line has a point and this one none, it goes on.
    return series.push({ spanGaps: true, points: { show: points.x.length < 30, size: 5 }, ...one }) - 1;
  };
  for (const line of lines) {
    const stroke = colorOf(line.color);
    const quiet: Series = { class: 'quiet', points: { show: false } };
    if (line.raw) add(line.raw, { ...quiet, stroke: `${stroke}40`, width: 1 });
    if (line.low && line.high) {
      const low = add(line.low, { ...quiet, stroke: 'transparent', width: 0 });
      const high = add(line.high, { ...quiet, stroke: 'transparent', width: 0 });
      bands.push({ series: [high, low], fill: `${stroke}2e` });
    }
    add(line.line, { label: line.name, stroke, width: 1.75 });
  }
  const data = tables.length === 0 ? ([[]] as unknown as AlignedData) : uPlot.join(tables.map((table) => [table.x, table.y] as AlignedData));
  return { data, series, bands };
}

/** Lines have their points at other places: the nearest one of each counts, but of a line that has ended none. */
function nearest(plot: uPlot, series: number, at: number): number {
  const values = plot.data[series];
  let [before, after] = [at, at];
  while (before >= 0 && values[before] == null) --before;
  while (after < values.length && values[after] == null) ++after;
  if (before < 0 || after >= values.length) {
    const end = before < 0 ? after : before;
    const near = end >= 0 && end < values.length && Math.abs(plot.valToPos(plot.data[0][end], 'x') - plot.valToPos(plot.data[0][at], 'x')) < 12;
    return near ? end : at;
  }
  return at - before <= after - at ? before : after;
}

function element(kind: string, of: HTMLElement, text = ''): HTMLElement {
  const made = document.createElement('div');
  made.className = kind;
  made.textContent = text;
  of.append(made);
  return made;
}

/** The box under the cursor: values of the lines, the largest first. */
function tips(look: Look): Plugin {
  let box: HTMLElement;
  const fill = (plot: uPlot): void => {
    const { left = -1, top = -1, idxs } = plot.cursor;
    const rows = plot.series.flatMap((series, i) => {
      const index = idxs?.[i];
      const value = i > 0 && series.class !== 'quiet' && series.show && typeof index === 'number' ? plot.data[i][index] : null;
      return value == null ? [] : [{ name: String(series.label), color: String((series as { _stroke?: string })._stroke ?? ''), value: value as number, away: Math.abs(plot.valToPos(value as number, 'y') - top) }];
    });
    const x = left >= 0 ? plot.posToVal(left, 'x') : undefined;
    box.style.display = x === undefined || rows.length === 0 ? 'none' : 'block';
    if (x === undefined || rows.length === 0) return;
    const near = Math.min(...rows.map((row) => row.away));
    const shown = rows.length <= mostNamed ? rows : [...rows].sort((a, b) => a.away - b.away).slice(0, mostNamed);
    shown.sort((a, b) => b.value - a.value);
    box.replaceChildren();
    element('faint', box, `${look.xTitle} ${look.isTime ? seconds(x) : look.xTitle === 'step' ? short(Math.round(x)) : tick(Number(x.toPrecision(5)))}`);
    for (const row of shown) {
      const line = element(row.away === near ? 'near' : '', box);
      element('dot', line).style.background = row.color;
      element('name', line, row.name);
      element('value', line, written(row.value, look));
    }
    if (rows.length > shown.length) element('faint', box, `and ${rows.length - shown.length} more`);
    const width = plot.over.clientWidth;
    box.style.left = left < width / 2 ? `${left + 14}px` : '';
    box.style.right = left < width / 2 ? '' : `${width - left + 14}px`;
    box.style.top = `${Math.max(0, Math.min(top - 20, plot.over.clientHeight - box.offsetHeight))}px`;
  };
  return { hooks: { init: (plot) => { box = element('tip', plot.over); }, setCursor: fill } };
}

function optionsOf(box: HTMLElement, made: Parts, look: Look): Options {
  const line = colorNamed('--line');
  const axis = { stroke: colorNamed('--faint'), font: '11px Inter, system-ui, sans-serif', grid: { stroke: colorNamed('--soft'), width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
  const log = { distr: 3 as const, log: 10 as const };
  // The stroke as it was given: uPlot makes functions of colors.
  const series = made.series.map((one) => ({ ...one, _stroke: one.stroke }));
  return {
    width: box.clientWidth,
    height: look.height ?? usualHeight,
    padding: [8, 18, 0, 0], // the last label is wider than its tick
    series,
    bands: made.bands,
    plugins: [tips(look)],
    legend: { show: false },
    cursor: { sync: { key: look.sync }, focus: { prox: 24 }, dataIdx: nearest, points: { size: 7 }, x: true, y: false },
    focus: { alpha: 0.25 },
    scales: { x: { time: false, ...(look.logX ? log : {}) }, y: look.logY ? log : {} },
    axes: [
      { ...axis, size: 30, values: (_, splits) => splits.map((value) => (value === null ? '' : look.isTime ? seconds(value) : tick(value))) },
      { ...axis, size: 56, values: (_, splits) => splits.map((value) => (value === null ? '' : look.percent ? `${Number((100 * value).toPrecision(4))} %` : tick(value))) },
    ],
  };
}

/** For the report of the page: at most so many points that its file stays small. */
function block(lines: Drawn[], look: Look): Record<string, unknown> {
  const most = 600;
  const series = lines.map((line) => {
    const every = Math.ceil(line.line.x.length / most);
    const kept = line.line.x.map((_, i) => i).filter((i) => i % every === 0 || i === line.line.x.length - 1);
    return { name: line.name, origin: 'measured', points: kept.map((i) => [line.line.x[i], line.line.y[i]]) };
  });
  return { chart: { kind: 'line', title: look.title, x: { name: look.isTime ? `${look.xTitle} (s)` : look.xTitle, log: look.logX }, y: { name: look.title, log: look.logY }, series } };
}

/** Drawn anew when what it shows changes in kind; with new points only its data are set. */
export function Chart({ lines, look }: { lines: Drawn[]; look: Look }) {
  const figure = useRef<HTMLElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const theme = useTheme();
  const shape = JSON.stringify([theme, look, lines.map((line) => [line.name, line.color, line.raw !== undefined, line.low !== undefined, line.line.x.length < 30])]);
  useEffect(() => {
    if (!box.current) return undefined;
    const target = box.current;
    const made = parts(lines, look);
    const drawn = new uPlot(optionsOf(target, made, look), made.data, target);
    plot.current = drawn;
    const fit = new ResizeObserver(() => drawn.setSize({ width: target.clientWidth, height: look.height ?? usualHeight }));
    fit.observe(target);
    return () => {
      fit.disconnect();
      drawn.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(parts(lines, look).data);
    if (figure.current) noteChart(figure.current, block(lines, look));
  }, [lines]);
  const last = lines.map((line) => `${line.name} ${short(line.line.y[line.line.y.length - 1] ?? NaN)}`).join(', ');
  return (
    <figure class="chart" ref={figure} aria-label={`${look.title} by ${look.xTitle}; at the end: ${last}`}>
      <figcaption>{look.title} <span class="faint">{look.note ?? `by ${look.xTitle}`}</span></figcaption>
      <div ref={box} class="plot" />
    </figure>
  );
}

/** Names and colors of the lines, once for several charts. */
export function Legend({ lines }: { lines: { name: string; color: number }[] }) {
  return <div class="legend">{lines.map((line) => <span key={line.name}><span class="dot" style={{ background: colorOf(line.color) }} />{line.name}</span>)}</div>;
}
