// Opens real reports in headless Chromium, from disk: node test/browser.mjs TRAINYARD REPORT_PAGE OUTPUT_FOLDER
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { check, chromium, executablePath, finish } from './chromium.mjs';

const [trainyard, reportPage, output] = process.argv.slice(2);

/** Pages of several commands, and one with every element that reports have. */
function makePages() {
  mkdirSync(output, { recursive: true });
  const page = (name) => join(output, `${name}.html`);
  const run = (...words) => execFileSync(trainyard, words, { stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync(reportPage, [page('elements')]);
  run('predict', 'resnet50', '--workers', '1,2,4,8', '--html', page('predict'));
  run('lab', 'run', 'cnn-architectures', '--runs-dir', output);
  run('lab', 'run', 'paleo-scaling', '--runs-dir', output);
  run('staleness', '--learner', '1,2,3,4', '--learner', '2.5,5', '--html', page('staleness'));
  return [page('elements'), page('predict'), join(output, 'cnn-architectures', 'report.html'), page('staleness'), join(output, 'paleo-scaling', 'report.html')];
}

const WIDTHS = { wide: { width: 1400, height: 900 }, narrow: { width: 390, height: 844 } };

async function checkPage(context, file, width) {
  const page = await context.newPage();
  await page.setViewportSize(WIDTHS[width]);
  const problems = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => request.url().startsWith('http') && problems.push(`asked for ${request.url()}`));
  await page.goto(pathToFileURL(file).href);
  const name = `${file.replace(`${output}/`, '')}, ${width}`;
  const facts = await page.evaluate(() => ({
    title: document.querySelector('h1')?.textContent ?? '',
    plots: [...document.querySelectorAll('.plot')].map((plot) => plot.querySelectorAll('svg path, svg rect').length),
    charts: document.querySelectorAll('figure.chart').length,
    tables: [...document.querySelectorAll('figure.chart')].filter((figure) => figure.querySelector('details table tbody tr')).length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    collisions: [...document.querySelectorAll('.plot svg')].flatMap((svg) => {
      const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim() !== '').map((text) => ({ words: text.textContent, box: text.getBoundingClientRect() }));
      const common = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
      return texts.flatMap((one, index) => texts.slice(index + 1)
        .filter((other) => common(one.box, other.box, 'left', 'right') > 2 && common(one.box, other.box, 'top', 'bottom') > 3)
        .map((other) => `${one.words} / ${other.words}`));
    }),
    covered: [...document.querySelectorAll('.plot svg')].flatMap((svg) => {
      const marks = [...svg.querySelectorAll('path')].map((path) => path.getBoundingClientRect()).filter((box) => box.width > 4 && box.width < 9 && box.height > 4 && box.height < 9);
      const lies = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
      return [...svg.querySelectorAll('text')].filter((text) => marks.some((mark) => lies(text.getBoundingClientRect(), mark))).map((text) => text.textContent);
    }),
    cut: JSON.parse(document.getElementById('charts')?.textContent ?? '[]').flatMap((chart, index) => {
      const words = [...document.querySelectorAll(`#chart-${index} .plot svg text`)].map((text) => text.textContent).join(' ');
      return chart.series.length < 2 ? [] : chart.series.map((series) => series.name).filter((name) => !words.replace(/\s+/g, ' ').includes(name));
    }),
    unnamed: [...document.querySelectorAll('button, a, img')].filter((e) => !(e.textContent || e.getAttribute('aria-label') || e.getAttribute('alt'))).length,
  }));
  check(facts.title !== '' && facts.title !== 'owned' && problems.length === 0, `${name}: renders without complaint ${problems.join('; ')}`);
  check(facts.charts === facts.plots.length && facts.plots.every((marks) => marks > 3), `${name}: ${facts.charts} charts have marks`);
  check(facts.tables === facts.charts, `${name}: every chart has its data as a table`);
  check(facts.overflow <= 0, `${name}: nothing is wider than the window (${facts.overflow} px)`);
  check(facts.collisions.length === 0, `${name}: no text of a chart lies on another ${facts.collisions.join('; ')}`);
  check(facts.covered.length === 0, `${name}: no text of a chart lies on a point ${facts.covered.join('; ')}`);
  check(facts.cut.length === 0, `${name}: legends have the whole names of series ${facts.cut.join('; ')}`);
  check(facts.unnamed === 0, `${name}: every control has a name`);
  await page.screenshot({ path: file.replace(/\.html$/, `-${width}.png`), fullPage: true });
  return page;
}

/** Wide tables say that there is more, keep their first column while they scroll, and stop saying so at the end. */
async function checkNarrowTables(page) {
  const seen = await page.evaluate(async () => {
    const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await settled();
    const boxes = [...document.querySelectorAll('.table .scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1);
    const facts = [];
    for (const box of boxes) {
      const first = box.querySelector('tbody td');
      const cue = box.classList.contains('more') && getComputedStyle(box).maskImage.includes('gradient');
      const left = first.getBoundingClientRect().left;
      box.scrollLeft = box.scrollWidth;
      await settled();
      facts.push({ cue, stays: Math.abs(first.getBoundingClientRect().left - left) < 1, share: first.offsetWidth / box.clientWidth, done: !box.classList.contains('more') });
    }
    return facts;
  });
  check(seen.length >= 2 && seen.every((t) => t.cue && t.done), `${seen.length} tables that are too wide say so until their end`);
  check(seen.every((t) => t.stays && t.share < 0.5), 'their first column stays in sight and leaves room for another');
  const formulas = await page.evaluate(() => [...document.querySelectorAll('.formula')].filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.classList.contains('more') && getComputedStyle(box).maskImage.includes('gradient')));
  check(formulas.length > 0 && formulas.every(Boolean), `${formulas.length} formulas that are too wide say so`);
}

/** A series has one color through all charts, and another than those beside it. */
async function checkColors(page) {
  const charts = await page.evaluate(() => [...document.querySelectorAll('figure.chart')].map((figure) => {
    const texts = [...figure.querySelectorAll('.plot svg text')];
    const data = JSON.parse(document.getElementById('charts').textContent)[Number(figure.id.slice(6))];
    return data.series.map((series) => {
      const text = texts.find((t) => t.textContent === series.name);
      const colorsOf = (path) => [path.getAttribute('stroke'), path.getAttribute('fill')].filter((c) => c && c !== 'none' && c !== 'transparent');
      // The last before the name that is drawn: the box around a name is a path without a color.
      const marks = text ? [...figure.querySelectorAll('.plot svg path')].filter((path) => colorsOf(path).length > 0 && path.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING) : [];
      return { name: series.group || series.name, color: marks.length > 0 ? colorsOf(marks[marks.length - 1])[0] : undefined };
    }).filter((series) => series.color);
  }));
  const colors = new Map();
  charts.flat().forEach(({ name, color }) => colors.set(name, new Set([...(colors.get(name) ?? []), color])));
  const several = [...colors].filter(([, set]) => set.size > 1).map(([name, set]) => `${name}: ${[...set].join(' ')}`);
  const twice = charts.flat().length > colors.size;
  check(twice && several.length === 0, `a series keeps its color through the charts of a page ${several.join('; ')}`);
}

async function downloaded(page, label) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('figure.chart').first().getByRole('button', { name: label }).click()]);
  return readFileSync(await download.path());
}

async function checkActions(page) {
  const csv = (await downloaded(page, 'CSV')).toString();
  const rows = await page.locator('figure.chart').first().locator('tbody tr').count();
  check(csv.trim().split('\n').length === rows + 1, 'the CSV of a chart has a line per row of its table');
  check((await downloaded(page, 'SVG')).toString().startsWith('<svg'), 'the SVG of a chart is SVG');
  check((await downloaded(page, 'PNG')).subarray(1, 4).toString() === 'PNG', 'the PNG of a chart is PNG');

  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background();
  await page.getByRole('button', { name: 'Change between light and dark' }).click();
  check((await background()) !== before, 'light and dark change places');
  await page.screenshot({ path: join(output, 'elements-dark.png'), fullPage: true });
  await page.getByRole('button', { name: 'Change between light and dark' }).click();

  await page.locator('.plot').first().focus();
  await page.keyboard.press('ArrowRight');
  const tip = await page.locator('.plot').first().evaluate((plot) => plot.lastElementChild?.textContent ?? '');
  check(tip !== '', `arrow keys show the values of a chart ("${tip}")`);

  const heights = await page.locator('figure.chart', { hasText: 'Bars on a logarithmic axis' }).evaluate((figure) =>
    [...figure.querySelectorAll('.plot svg path')].filter((path) => path.getAttribute('fill') && path.getAttribute('fill') !== 'none')
      .map((path) => path.getBBox()).filter((box) => box.width > 20).map((box) => Math.round(box.height)));
  check(heights.length >= 3 && heights.every((height) => height > 10), `bars of 1, 10 and 100 can be seen (${heights.join(', ')} px)`);

  const table = page.locator('.table table').first();
  const column = () => table.locator('tbody tr td:last-child').allTextContents();
  const original = await column();
  await table.locator('th button').last().click();
  const sorted = await column();
  const numbers = sorted.map((text) => Number(text.replace(/[^0-9.]/g, '')));
  check(sorted.join() !== original.join() && numbers.every((n, i) => i === 0 || numbers[i - 1] <= n), 'a table sorts by a column');
  await page.emulateMedia({ media: 'print' });
  const printed = await page.evaluate(() => getComputedStyle(document.querySelector('header')).display);
  check(printed === 'none', 'on paper there are no controls');
}

const pages = makePages();
const profile = mkdtempSync(join(tmpdir(), 'trainyard-browser-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath, headless: true, acceptDownloads: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'],
});
try {
  for (const width of Object.keys(WIDTHS)) {
    for (const file of pages) await (await checkPage(context, file, width)).close();
  }
  const lab = await checkPage(context, pages[2], 'narrow');
  await checkNarrowTables(lab);
  await lab.close();
  const page = await checkPage(context, pages[0], 'wide');
  await checkColors(page);
  await checkActions(page);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
finish();
