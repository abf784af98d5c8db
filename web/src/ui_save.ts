// What the page shows, as blocks of a report: the server makes one file of them.
import { send } from './ask';
import { actionHeaders } from './ui_api';

type Block = Record<string, unknown>;

// Charts on a canvas say what they draw, so that the report draws it anew.
const charts = new WeakMap<Element, Block>();
export const noteChart = (element: Element, chart: Block): void => { charts.set(element, chart); };

const words = (element: Element): string => ((element as HTMLElement).innerText ?? element.textContent ?? '').replace(/\s+/g, ' ').trim();
const isShown = (element: Element): boolean => element.getClientRects().length > 0;

function tableOf(table: HTMLTableElement): Block {
  const head = [...(table.tHead?.rows[0]?.cells ?? [])];
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const width = Math.max(head.length, ...rows.map((row) => row.cells.length));
  // Boxes to tick say nothing on paper.
  const kept = Array.from({ length: width }, (_, i) => i).filter((i) => !rows.some((row) => row.cells[i]?.querySelector('input')));
  const columns = kept.map((i) => ({ name: head[i] ? words(head[i]).replace(/ [↑↓]$/, '') : '', number: rows[0]?.cells[i]?.classList.contains('number') ?? false }));
  return { table: { columns, rows: rows.map((row) => kept.map((i) => (row.cells[i] ? words(row.cells[i]) : ''))) } };
}

/** Colors of the style become the drawing's own: outside of the page there is no style. */
async function pictureOfSvg(svg: SVGSVGElement): Promise<string> {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [[svg, ...svg.querySelectorAll('*')], [copy, ...copy.querySelectorAll('*')]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of ['fill', 'stroke', 'stroke-width', 'fill-opacity', 'stroke-opacity', 'paint-order', 'font-family', 'font-size', 'font-weight']) (to[i] as SVGElement).setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = svg.getBoundingClientRect();
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  const context = canvas.getContext('2d');
  if (!context) return '';
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--panel');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png');
}

const png = (address: string): string => address.slice(address.indexOf(',') + 1);

async function blocksOf(element: Element, blocks: Block[]): Promise<void> {
  if (!isShown(element) || element.matches('form, .row, .list, button, .tip, [data-nosave]')) return;
  const chart = charts.get(element);
  const caption = element.closest('figure')?.querySelector('figcaption');
  if (chart) blocks.push(chart);
  else if (element.matches('h1, h2, h3')) blocks.push({ heading: words(element) });
  else if (element.matches('pre')) blocks.push({ code: (element as HTMLElement).innerText });
  else if (element.matches('table')) blocks.push(tableOf(element as HTMLTableElement));
  else if (element.matches('p, li, dl, .legend')) { if (words(element) !== '') blocks.push({ text: words(element) }); }
  else if (element instanceof HTMLCanvasElement) { if (element.width > 0) blocks.push({ picture: { png: png(element.toDataURL('image/png')), caption: caption ? words(caption) : '' } }); }
  else if (element instanceof SVGSVGElement) { if (element.getAttribute('role') === 'img') blocks.push({ picture: { png: png(await pictureOfSvg(element)), caption: caption ? words(caption) : '' } }); }
  else if (!element.matches('figcaption')) for (const child of element.children) await blocksOf(child, blocks);
}

/** Downloads the report of what is on the screen. */
export async function saveView(title: string): Promise<void> {
  const blocks: Block[] = [];
  const main = document.querySelector('main');
  for (const child of main?.children ?? []) if (!child.matches('h1.hidden')) await blocksOf(child, blocks);
  const lead = `Saved from ${location.host} on ${new Date().toLocaleString()}.`;
  const answer = await send('/api/report', { method: 'POST', headers: actionHeaders(), body: JSON.stringify({ title, lead, blocks }) });
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = `${title.replace(/[^\w-]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 80) || 'trainyard'}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
