// What a page does: draws the charts, offers downloads, sorts tables, follows light and dark.
import { init, type EChartsType } from 'echarts/core';
import type { Chart, Palette } from './chart_data';
import { sidesOf } from './labels';
import { heightOf, optionsOf, shareColors } from './options';

/** The style sheet has --series-1 to --series-12. */
const SERIES_COLORS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

interface Drawn {
  chart: Chart;
  plot: HTMLElement;
  view: EChartsType;
}

/** The colors of the style sheet as they are now; what light-dark() chose is known to real elements alone. */
function palette(): Palette {
  const probe = document.body.appendChild(document.createElement('span'));
  const color = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colors = {
    ink: color('ink'), soft: color('soft'), line: color('line'), card: color('card'),
    series: SERIES_COLORS.map((i) => color(`series-${i}`)),
    dark: currentTheme() === 'dark',
  };
  probe.remove();
  return colors;
}

/** Once without labels, which say where there is room for them, and again with those. */
function show(view: EChartsType, chart: Chart, width: number, title: boolean): void {
  view.setOption(optionsOf(chart, palette(), width, title), { notMerge: true });
  const sides = sidesOf(chart, view);
  if (sides.length > 0) view.setOption(optionsOf(chart, palette(), width, title, sides), { notMerge: true });
}

function draw({ chart, plot, view }: Drawn): void {
  const width = plot.clientWidth;
  const height = heightOf(chart, width);
  plot.style.height = `${height}px`;
  view.resize({ width, height });
  show(view, chart, width, false);
}

function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileName(title: string, ending: string): string {
  const words = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
  return `${words || 'report'}.${ending}`;
}

function csvOf(table: HTMLTableElement): string {
  const field = (cell: HTMLElement) => {
    const text = cell.dataset.raw ?? cell.textContent ?? '';
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [...table.rows].map((row) => [...row.cells].map(field).join(',')).join('\n') + '\n';
}

/** The chart as a picture of its own, with its title. */
function svgOf(chart: Chart): { svg: string; width: number; height: number } {
  const width = 900;
  const height = Math.max(460, heightOf(chart, width) + 34);
  const view = init(null, null, { renderer: 'svg', ssr: true, width, height });
  show(view, chart, width, true);
  const svg = view.renderToSVGString();
  view.dispose();
  return { svg, width, height };
}

function savePng(chart: Chart): void {
  const { svg, width, height } = svgOf(chart);
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement('canvas');
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && save(fileName(chart.title, 'png'), blob), 'image/png');
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

function button(text: string, label: string, action: () => void): HTMLButtonElement {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = text;
  element.setAttribute('aria-label', label);
  element.title = label;
  element.addEventListener('click', action);
  return element;
}

function actions(...buttons: HTMLButtonElement[]): HTMLElement {
  const row = document.createElement('div');
  row.className = 'actions';
  row.append(...buttons);
  return row;
}

/** Arrow keys move through the points as a pointer would. */
function addKeys({ plot, view, chart }: Drawn): void {
  let at = -1;
  plot.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === 'Escape') view.dispatchAction({ type: 'hideTip' });
    const count = Math.max(...chart.series.map((series) => series.points.length));
    if (step === undefined || count <= 0) return;
    event.preventDefault();
    at = (at + step + count) % count;
    view.dispatchAction({ type: 'showTip', seriesIndex: 0, dataIndex: at });
  });
  plot.addEventListener('blur', () => view.dispatchAction({ type: 'hideTip' }));
}

function drawAll(): Drawn[] {
  const charts = JSON.parse(document.getElementById('charts')?.textContent ?? '[]') as Chart[];
  shareColors(charts, SERIES_COLORS.length);
  return charts.map((chart, index) => {
    const figure = document.getElementById(`chart-${index}`) as HTMLElement;
    const plot = figure.querySelector('.plot') as HTMLElement;
    const details = figure.querySelector('details') as HTMLElement;
    const view = init(plot, null, { renderer: 'svg' });
    const drawn = { chart, plot, view };
    draw(drawn);
    addKeys(drawn);
    const foot = document.createElement('div');
    foot.className = 'foot';
    details.replaceWith(foot);
    const table = details.querySelector('table') as HTMLTableElement;
    foot.append(details, actions(
      button('CSV', `Download the data of “${chart.title}” as CSV`, () => save(fileName(chart.title, 'csv'), new Blob([csvOf(table)], { type: 'text/csv' }))),
      button('SVG', `Download “${chart.title}” as SVG`, () => save(fileName(chart.title, 'svg'), new Blob([svgOf(chart).svg], { type: 'image/svg+xml' }))),
      button('PNG', `Download “${chart.title}” as PNG`, () => savePng(chart)),
    ));
    return drawn;
  });
}

function addSorting(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const original = [...body.rows];
  [...table.tHead!.rows[0].cells].forEach((head, column) => {
    const sort = button(head.textContent ?? '', `Sort by ${head.textContent}`, () => {
      const previous = head.getAttribute('aria-sort');
      table.querySelectorAll('th').forEach((other) => other.removeAttribute('aria-sort'));
      if (previous === 'descending') {
        body.append(...original);
        return;
      }
      const sign = previous === 'ascending' ? -1 : 1;
      head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      const key = (row: HTMLTableRowElement) => row.cells[column].dataset.raw ?? row.cells[column].textContent ?? '';
      body.append(...[...original].sort((a, b) => {
        const difference = Number(key(a)) - Number(key(b));
        return sign * (Number.isNaN(difference) ? key(a).localeCompare(key(b)) : difference);
      }));
    });
    head.textContent = '';
    head.append(sort);
  });
}

function addTables(): void {
  document.querySelectorAll<HTMLTableElement>('.table table').forEach((table, index) => {
    if (table.tBodies[0].rows.length > 3) addSorting(table);
    const download = () => save(fileName(`${document.title} table ${index + 1}`, 'csv'), new Blob([csvOf(table)], { type: 'text/csv' }));
    table.closest('.table')?.append(actions(button('CSV', 'Download this table as CSV', download)));
  });
}

/** Tables and formulas that are wider than their place fade where something is hidden; the first column of a table stays. */
function showWhatIsHidden(): void {
  document.querySelectorAll<HTMLElement>('.scroll, .formula').forEach((box) => {
    const mark = () => {
      box.classList.toggle('more', box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
      box.classList.toggle('moved', box.scrollLeft > 0);
    };
    box.addEventListener('scroll', mark, { passive: true });
    // Seen first when the page is laid out, a fold is opened or the window changes.
    new ResizeObserver(mark).observe(box);
  });
}

function remembered(): string | null {
  try {
    return localStorage.getItem('trainyard-theme');
  } catch {
    return null;
  }
}

function remember(theme: string): void {
  try {
    localStorage.setItem('trainyard-theme', theme);
  } catch {
    // Pages from disk may have no storage; the choice then lasts as long as the page.
  }
}

const root = document.documentElement;
const dark = matchMedia('(prefers-color-scheme: dark)');

function currentTheme(): string {
  if (matchMedia('print').matches) return 'light';
  return root.dataset.theme ?? (dark.matches ? 'dark' : 'light');
}

function addTheme(redraw: () => void): void {
  const other = () => (currentTheme() === 'dark' ? 'Light' : 'Dark');
  const choice = remembered();
  if (choice) root.dataset.theme = choice;
  const change = button(other(), 'Change between light and dark', () => {
    root.dataset.theme = other().toLowerCase();
    remember(root.dataset.theme);
    change.textContent = other();
    redraw();
  });
  dark.addEventListener('change', () => {
    change.textContent = other();
    redraw();
  });
  document.querySelector('.tools')?.append(change);
}

/** Marks the section that is being read in the contents. */
function followSections(): void {
  const links = new Map([...document.querySelectorAll<HTMLAnchorElement>('.contents a')].map((a) => [a.hash.slice(1), a]));
  if (links.size === 0) return;
  const heads = [...document.querySelectorAll<HTMLElement>('h2')];
  const mark = () => {
    const passed = heads.filter((head) => head.getBoundingClientRect().top < innerHeight * 0.3);
    const here = (passed[passed.length - 1] ?? heads[0]).id;
    links.forEach((link, id) => link.classList.toggle('here', id === here));
  };
  addEventListener('scroll', mark, { passive: true });
  mark();
}

/** Called once the kinds of charts are registered. */
export function showPage(): void {
  let drawn: Drawn[] = [];
  const redraw = () => drawn.forEach(draw);
  addTheme(redraw);
  drawn = drawAll();
  addTables();
  showWhatIsHidden();
  followSections();
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width) return;
    width = innerWidth;
    redraw();
  });
  addEventListener('beforeprint', redraw);
  addEventListener('afterprint', redraw);
}
