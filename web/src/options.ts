// A chart as the options of ECharts.
import type { EChartsCoreOption } from 'echarts/core';
import { compact, type Axis, type Chart, type Palette, type Point, type Series } from './chart_data';
import { FONT, LABEL_GAP, LABEL_SIZE, type Sides } from './labels';

type Dictionary = Record<string, unknown>;

/** Categories stand better at the left when there are many or their names are long. */
export function liesDown(chart: Chart, width: number): boolean {
  if (chart.kind !== 'bar' && chart.kind !== 'stacked') return false;
  const names = chart.x.categories ?? [];
  const longest = Math.max(0, ...names.map((name) => name.length + 2));
  return longest * names.length * 7 > width * 0.85;
}

/** The height of the drawing in pixels. */
export function heightOf(chart: Chart, width: number): number {
  const legend = legendRows(chart, width) * 24;
  if (chart.kind === 'heat-map') return 110 + (chart.y.categories?.length ?? 1) * 34;
  if (chart.kind === 'timeline') return 80 + legend + (chart.y.categories?.length ?? 1) * 52;
  if (liesDown(chart, width)) {
    const bars = chart.kind === 'bar' ? chart.series.length : 1;
    const rows = chart.x.categories?.length ?? 1;
    return 70 + legend + rows * Math.max(24, bars * 13 + 10);
  }
  return (width < 500 ? 270 : 320) + legend;
}

/** Between entries of the legend, and between its rows, which are as high as a line: 15 pixels. */
const LEGEND_GAP = 9;

/**
 * A name that is wider than the chart goes on in the next line: its end says where the numbers come from. A page that is not laid out
 * yet has a width of zero.
 */
function legendLines(name: string, width: number): string[] {
  const most = Math.max(100, width - 40) / 7;
  const lines = [''];
  for (const word of name.split(' ')) {
    const line = lines[lines.length - 1];
    if (line !== '' && line.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

function legendRows(chart: Chart, width: number): number {
  const named = chart.series.filter((series) => series.name !== '');
  if (named.length < 2 && chart.kind !== 'timeline') return 0;
  // Entries are laid out as words are: a new row begins where the next one does not fit.
  let rows = 1;
  let used = 0;
  for (const series of named) {
    const entry = series.name.length * 7 + 32 + LEGEND_GAP;
    if (used > 0 && used + entry > width - 8) {
      rows += 1;
      used = 0;
    }
    if (used === 0) rows += legendLines(series.name, width).length - 1;
    used += entry;
  }
  return Math.min(14, rows);
}

const isIdeal = (series: Series) => series.origin === 'ideal';

/**
 * Gives each series its color: the same through all charts of the page by its group, or else its name, and as far as the palette
 * goes one that no other series of the page has, or at least none beside it.
 */
export function shareColors(charts: Chart[], count: number): void {
  const key = (series: Series) => (series.group === '' ? series.name : series.group);
  const beside = new Map<string, Set<string>>();
  for (const chart of charts) {
    const keys = new Set(chart.series.filter((series) => !isIdeal(series)).map(key));
    keys.forEach((one) => beside.set(one, new Set([...(beside.get(one) ?? []), ...keys])));
  }
  const chosen = new Map<string, number>();
  beside.forEach((others, one) => {
    // Beside it counts first; elsewhere on the page decides between what is left.
    const used = new Array<number>(count).fill(0);
    chosen.forEach((color, other) => (used[color] += others.has(other) ? beside.size : 1));
    chosen.set(one, used.indexOf(Math.min(...used)));
  });
  charts.forEach((chart) => (chart.colors = chart.series.map((series) => chosen.get(key(series)) ?? 0)));
}

/** What is ideal is gray. */
export function colorsOf(chart: Chart, palette: Palette): string[] {
  return chart.series.map((series, index) => (isIdeal(series) ? palette.soft : palette.series[(chart.colors?.[index] ?? index) % palette.series.length]));
}

function numbersOf(chart: Chart, which: 'x' | 'y'): number[] {
  // Bars of a histogram have two ends and no place between.
  const at = which === 'y' ? [1] : chart.kind === 'histogram' ? [2, 3] : [0];
  return chart.series.flatMap((series) => series.points.flatMap((point) => at.map((i) => point[i]))).filter((v): v is number => typeof v === 'number');
}

/** Numbers of workers and the like: few doublings, each of which deserves a tick. */
function doublings(chart: Chart): boolean {
  const all = numbersOf(chart, 'x');
  return all.every((x) => x > 0 && Number.isInteger(Math.log2(x))) && Math.max(...all) / Math.min(...all) <= 512;
}

function axis(chart: Chart, which: 'x' | 'y', palette: Palette, upright: boolean): Dictionary {
  const data: Axis = chart[which];
  const common = {
    name: data.name,
    nameLocation: upright ? 'end' : 'middle',
    nameGap: upright ? 12 : 30,
    nameTextStyle: { color: palette.soft, fontSize: 12, align: upright ? 'left' : 'center', padding: upright ? [0, 0, 0, -14] : 0 },
    axisLine: { show: !upright || !!data.categories, onZero: false, lineStyle: { color: palette.line } },
    axisTick: { show: false },
    axisLabel: { color: palette.soft, fontSize: 12, hideOverlap: true },
    splitLine: { show: upright || !data.categories, lineStyle: { color: palette.line, width: 1, opacity: upright ? 0.9 : 0.5 } },
  };
  if (data.categories) {
    return { ...common, type: 'category', data: data.categories, splitLine: { show: false },
      axisLabel: { ...common.axisLabel, interval: 0, width: upright ? 150 : undefined, overflow: upright ? 'truncate' : undefined } };
  }
  const label = { ...common.axisLabel, formatter: (value: number) => compact(value) };
  if (data.log) {
    const two = which === 'x' && chart.kind === 'line' && doublings(chart);
    const all = numbersOf(chart, which).filter((v) => v > 0);
    // Bars need a foot to stand on: a power of ten below the shortest.
    const below = 10 ** Math.floor(Math.log10(Math.min(...all) * 0.999));
    const foot = chart.kind === 'bar' && which === 'y' ? { min: below, startValue: below } : {};
    const ends = chart.kind === 'line' && which === 'x' ? { min: Math.min(...all), max: Math.max(...all) } : foot;
    return { ...common, type: 'log', logBase: two ? 2 : 10, axisLabel: label, minorSplitLine: { show: false }, ...ends };
  }
  // Differences are what people look at: the axis begins at 0 unless the values are close together.
  const whole = which === 'x' && numbersOf(chart, 'x').every(Number.isInteger) ? { minInterval: 1 } : {};
  return { ...common, type: 'value', axisLabel: label, scale: closeTogether(chart, which), ...whole };
}

function closeTogether(chart: Chart, which: 'x' | 'y'): boolean {
  if (which === 'y' && chart.kind !== 'line' && chart.kind !== 'scatter') return false;
  const values = numbersOf(chart, which);
  const low = Math.min(...values);
  return which === 'x' ? low > 0 : low > 0 && low > 0.6 * Math.max(...values);
}

function style(series: Series, color: string, palette: Palette, points: number): Dictionary {
  const dashes: Record<string, unknown> = { predicted: [7, 4], published: [2, 3], ideal: [3, 4], extrapolated: [2, 5] };
  const symbols: Record<string, string> = { published: 'diamond', ideal: 'none' };
  const hollow = { color: palette.card, borderColor: color, borderWidth: 2 };
  return {
    symbol: symbols[series.origin] ?? 'circle',
    symbolSize: series.origin === 'published' ? 10 : 7,
    showSymbol: points <= 60,
    lineStyle: { width: series.origin === 'ideal' ? 1.5 : 2.25, type: series.dashed ? [7, 4] : dashes[series.origin] ?? 'solid', color },
    itemStyle: series.origin === 'predicted' || series.origin === 'extrapolated' ? hollow : { color },
  };
}

/** Joins the points of one group whose origins differ: what was measured leads to what was extrapolated. */
const JOINT = 'joint';

function joints(chart: Chart, colors: string[]): Dictionary[] {
  const groups = new Map<string, number[]>();
  chart.series.forEach((series, index) => series.group !== '' && !isIdeal(series) && groups.set(series.group, [...(groups.get(series.group) ?? []), index]));
  return [...groups.values()].filter((members) => new Set(members.map((index) => chart.series[index].origin)).size > 1).map((members) => ({
    type: 'line', name: JOINT, silent: true, symbol: 'none', z: 1, lineStyle: { width: 1.5, type: [2, 5], color: colors[members[0]] },
    data: members.flatMap((index) => chart.series[index].points.map(place)).sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0)),
  }));
}

const place = (point: Point): (number | null)[] => [point[0], point[1]];

/** Error bars, drawn over the points they belong to. */
function errorBars(chart: Chart, series: Series, index: number, color: string): Dictionary | null {
  const points = series.points.filter((p) => p[2] !== null && p[3] !== null && p[1] !== null);
  if (points.length === 0 || chart.kind === 'histogram') return null;
  const bars = chart.kind === 'bar';
  return {
    type: 'custom', name: series.name, z: 5, silent: true, itemStyle: { color },
    encode: { x: 0, y: [2, 3] },
    data: points.map((p) => [p[0], p[1], p[2], p[3]]),
    renderItem(_: unknown, api: any) {
      const low = api.coord([api.value(0), api.value(2)]);
      const high = api.coord([api.value(0), api.value(3)]);
      const offset = bars ? api.barLayout({ count: chart.series.length })[index].offsetCenter : 0;
      const x = low[0] + offset;
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 1.5, opacity: 0.85 },
      });
      return { type: 'group', children: [line(x, low[1], x, high[1]), line(x - 4, low[1], x + 4, low[1]), line(x - 4, high[1], x + 4, high[1])] };
    },
  };
}

function seriesOf(chart: Chart, palette: Palette, lying: boolean, sides: Sides): Dictionary[] {
  const colors = colorsOf(chart, palette);
  const out: Dictionary[] = [];
  chart.series.forEach((series, index) => {
    const color = colors[index];
    if (chart.kind === 'line' || chart.kind === 'scatter') {
      const kind = series.origin === 'ideal' ? 'line' : chart.kind;
      out.push({
        type: kind, name: series.name, ...style(series, color, palette, series.points.length),
        data: series.points.map((p, at) => ({ value: place(p), name: p[5], ...(sides[index]?.[at] ? { label: { show: true, position: sides[index][at] } } : {}) })),
        label: { formatter: (p: any) => p.name, color: palette.soft, fontSize: LABEL_SIZE, distance: LABEL_GAP },
        emphasis: { focus: 'series' }, connectNulls: true,
      });
    } else {
      const light = series.origin === 'predicted' || series.origin === 'published' || series.origin === 'extrapolated';
      out.push({
        type: 'bar', name: series.name, stack: chart.kind === 'stacked' ? 'all' : undefined, barMaxWidth: 46, barGap: '8%',
        itemStyle: light && chart.kind === 'bar'
          ? { color: 'transparent', borderColor: color, borderWidth: 1.75, borderType: series.origin === 'predicted' ? 'dashed' : 'dotted',
            decal: { symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: Math.PI / 4, color } }
          : { color, borderRadius: chart.kind === 'stacked' ? 0 : lying ? [0, 3, 3, 0] : [3, 3, 0, 0] },
        data: series.points.map((p) => ({ value: lying ? [p[1], p[0]] : place(p), name: p[5] })),
        emphasis: { focus: chart.kind === 'stacked' ? 'series' : 'none' },
      });
    }
    const errors = lying ? null : errorBars(chart, series, index, palette.ink);
    if (errors) out.push(errors);
  });
  return chart.kind === 'line' ? [...out, ...joints(chart, colors)] : out;
}

function histogram(chart: Chart, palette: Palette): Dictionary[] {
  const colors = colorsOf(chart, palette);
  return chart.series.map((series, index) => ({
    type: 'custom', name: series.name, itemStyle: { color: colors[index], opacity: chart.series.length > 1 ? 0.65 : 0.9 },
    encode: { x: [0, 1], y: 2 }, data: series.points.map((p) => [p[2], p[3], p[1]]),
    renderItem(_: unknown, api: any) {
      const [left, top] = api.coord([api.value(0), api.value(2)]);
      const [right, bottom] = api.coord([api.value(1), 0]);
      return { type: 'rect', shape: { x: left + 0.5, y: top, width: Math.max(1, right - left - 1), height: bottom - top }, style: api.style() };
    },
  }));
}

function timeline(chart: Chart, palette: Palette): Dictionary[] {
  const colors = colorsOf(chart, palette);
  return chart.series.map((series, index) => ({
    type: 'custom', name: series.name, itemStyle: { color: colors[index] }, encode: { x: [1, 2], y: 0 },
    data: series.points.map((p) => ({ value: [p[1], p[2], p[3]], name: p[5] })),
    renderItem(params: any, api: any) {
      const begin = api.coord([api.value(1), api.value(0)]);
      const end = api.coord([api.value(2), api.value(0)]);
      const height = api.size([0, 1])[1] * 0.56;
      const width = Math.max(2, end[0] - begin[0] - 2);
      const label = series.points[params.dataIndex][5];
      return {
        type: 'rect', shape: { x: begin[0] + 1, y: begin[1] - height / 2, width, height, r: 4 }, style: api.style(),
        textContent: { style: { text: label.length * 7 < width ? label : '', fill: '#fff', font: `600 12px ${FONT}` } }, textConfig: { position: 'inside' },
      };
    },
  }));
}

function heatMap(chart: Chart, palette: Palette): Dictionary[] {
  return [{
    type: 'heatmap', name: chart.series[0]?.name ?? '',
    data: chart.series.flatMap((s) => s.points.map((p) => ({ value: [p[0], p[1], p[4]], name: p[5] }))),
    itemStyle: { borderColor: palette.card, borderWidth: 2, borderRadius: 4 },
    label: { show: true, formatter: (p: any) => (p.name !== '' ? p.name : compact(p.value[2])), fontSize: 12 },
  }];
}

function tooltip(chart: Chart, palette: Palette, lying: boolean): Dictionary {
  const common = {
    confine: true, backgroundColor: palette.card, borderColor: palette.line, textStyle: { color: palette.ink, fontSize: 13 },
    extraCssText: 'box-shadow:0 4px 18px rgba(0,0,0,.16);border-radius:8px',
  };
  const number = (value: unknown) => (typeof value === 'number' ? compact(value) : '–');
  const head = (text: string) => `<div style="font-weight:600;margin-bottom:2px">${escaped(text)}</div>`;
  if (chart.kind === 'heat-map') {
    return { ...common, formatter: (p: any) => head(`${chart.y.categories?.[p.value[1]]} · ${chart.x.categories?.[p.value[0]]}`) + number(p.value[2]) };
  }
  if (chart.kind === 'timeline') {
    return { ...common, formatter: (p: any) => `${head(`${chart.y.categories?.[p.value[0]]}: ${p.seriesName}`)}${number(p.value[1])} – ${number(p.value[2])} ${escaped(chart.x.name)}<br>${escaped(p.name)}` };
  }
  if (chart.kind === 'histogram') {
    return { ...common, formatter: (p: any) => head(`${number(p.value[0])} … ${number(p.value[1])}`) + number(p.value[2]) };
  }
  if (chart.kind === 'scatter') {
    return { ...common, formatter: (p: any) => `${head(p.name !== '' ? p.name : p.seriesName)}${escaped(chart.x.name)} ${number(p.value[0])}<br>${escaped(chart.y.name)} ${number(p.value[1])}` };
  }
  return {
    ...common, trigger: 'axis', axisPointer: { type: chart.kind === 'line' ? 'line' : 'shadow', lineStyle: { color: palette.soft } },
    formatter(items: any[]) {
      const shown = items.filter((item) => item.componentSubType !== 'custom' && item.seriesName !== JOINT);
      if (shown.length === 0) return '';
      const at = shown[0].value[lying ? 1 : 0];
      const name = chart.x.categories ? chart.x.categories[at] : `${chart.x.name} ${number(at)}`;
      return head(name) + shown.map((item) => `${item.marker}${escaped(item.seriesName || chart.y.name)}&nbsp; <b>${number(item.value[lying ? 0 : 1])}</b>`).join('<br>');
    },
  };
}

function escaped(text: string): string {
  return String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function colorScale(chart: Chart, palette: Palette): Dictionary {
  const values = chart.series.flatMap((s) => s.points.map((p) => p[4])).filter((v): v is number => v !== null);
  const low = Math.min(...values);
  const high = Math.max(...values);
  return {
    min: low, max: high === low ? low + 1 : high, orient: 'horizontal', right: 8, top: 0, itemWidth: 12, itemHeight: 90, text: [compact(high), compact(low)],
    textStyle: { color: palette.soft }, calculable: false,
    inRange: { color: palette.dark ? ['#1c2a4a', '#2c5a9c', '#4f9bd1', '#8fd6c9', '#f1f3b8'] : ['#f4f8fd', '#b9d7ee', '#63a8d6', '#2a6cb0', '#173a78'] },
  };
}

/** `title` is drawn into pictures that leave the page; `sides` say where the labels of points are. */
export function optionsOf(chart: Chart, palette: Palette, width: number, title = false, sides: Sides = []): EChartsCoreOption {
  const lying = liesDown(chart, width);
  const rows = legendRows(chart, width);
  const top = (title ? 34 : 0) + rows * 24;
  const special = { histogram, timeline, 'heat-map': heatMap } as Record<string, ((c: Chart, p: Palette) => Dictionary[]) | undefined>;
  const lanes = chart.kind === 'timeline' || chart.kind === 'heat-map';
  const x = axis(chart, 'x', palette, false);
  const y: Dictionary = { ...axis(chart, 'y', palette, true), ...(lanes ? { inverse: true, name: '' } : {}) };
  const across: Dictionary = { ...axis(chart, 'y', palette, false), splitLine: { show: true, lineStyle: { color: palette.line } } };
  const down: Dictionary = { ...axis(chart, 'x', palette, true), inverse: true, name: '' };
  return {
    animation: false,
    backgroundColor: title ? palette.card : 'transparent',
    textStyle: { fontFamily: FONT, color: palette.ink },
    title: title ? { text: chart.title, left: 4, top: 2, textStyle: { color: palette.ink, fontSize: 15, fontWeight: 600 } } : undefined,
    legend: rows > 0 ? { left: 0, top: title ? 30 : 0, itemGap: LEGEND_GAP, itemWidth: 26, textStyle: { color: palette.ink, fontSize: 12.5, lineHeight: 15 }, formatter: (name: string) => legendLines(name, width).join('\n'),
      data: chart.series.map((series) => series.name) } : { show: false },
    grid: { left: 8, right: lanes ? 16 : 22, top: top + (lanes ? (chart.kind === 'heat-map' ? 34 : 8) : lying ? 6 : 30), bottom: 26, containLabel: true },
    xAxis: lying ? across : x,
    yAxis: lying ? down : y,
    tooltip: tooltip(chart, palette, lying),
    visualMap: chart.kind === 'heat-map' ? colorScale(chart, palette) : undefined,
    series: special[chart.kind]?.(chart, palette) ?? seriesOf(chart, palette, lying, sides),
  };
}
