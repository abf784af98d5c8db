// Uses the page of run directories in headless Chromium: node test/ui.mjs TRAINYARD OUTPUT_FOLDER
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { check, chromium, executablePath, finish, startServer } from './chromium.mjs';

const [trainyard, output] = process.argv.slice(2);
const runs = join(output, 'ui_runs');
const hostile = '<img src=x onerror=alert(1)>';

/** A made-up run: two seeds of three batches look like trainings. */
function makeRun(name, batch, seed, epochs = 12) {
  const folder = join(runs, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.yaml'), `model: lenet5\ndata: fashion-mnist\nbatch: ${batch}\nlearning_rate: ${0.02 * batch}\nepochs: 20\nseed: ${seed}\n`);
  writeFileSync(join(folder, 'machine.json'), JSON.stringify({ host: 'lab7', processor: 'made up', threads: 8, time: '2026-01-01T12:00:00Z' }));
  const lines = [];
  for (let step = 1; step <= 20 * epochs; ++step) {
    const noise = Math.sin(step * (3 + seed)) * Math.cos(step * batch);
    lines.push({ step, loss: 2.3 * Math.exp(-step / (40 + batch)) + 0.15 + 0.05 * noise, learning_rate: 0.1 });
    if (step % 20 === 0) {
      const top1 = 0.9 - 0.5 * Math.exp(-step / (60 + batch)) + 0.01 * noise;
      lines.push({ step, epoch: step / 20, train_loss: 0.15 + 2 * Math.exp(-step / 60), test_loss: 0.3 + Math.exp(-step / 50), test_top1: top1, images_per_s: 40 * batch + seed, seconds: step / 4 });
    }
  }
  writeFileSync(join(folder, 'metrics.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return folder;
}

/** What some runs have beside their numbers. */
function addParts(folder) {
  appendFileSync(join(folder, 'metrics.jsonl'), '{"step":240,"epoch":12,"test_top1":0.8,"confusion":[8,1,1,2,8,0,0,0,10]}\n');
  writeFileSync(join(folder, 'classes.txt'), 'cat\ndog\ncow\n');
  writeFileSync(join(folder, 'trace.json'), JSON.stringify({ traceEvents: [{ ph: 'X', pid: 0, tid: 0, name: 'forward', cat: 'compute', ts: 0, dur: 90 }] }));
}

/** A page that notes what goes wrong in it. */
async function openPage(context, address, width) {
  const page = await context.newPage();
  const problems = [];
  // What is asked of a device that is not there is refused, and Chromium notes it.
  page.on('console', (message) => message.type() === 'error' && !message.text().includes('status of 400') && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => { problems.push('a dialog'); void dialog.dismiss(); });
  page.on('request', (request) => !request.url().startsWith(address) && !request.url().startsWith('data:') && problems.push(`asked for ${request.url()}`));
  await page.setViewportSize({ width, height: 844 });
  return { page, problems };
}

/** What axe finds wrong for readers of screens and for keyboards. */
async function checkAccess(page, name, width) {
  // By the driver, which a content policy does not bind.
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const problems = found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 2).map((node) => node.html.slice(0, 120)).join(' ')}`);
  check(problems.length === 0, `${width} px: ${name} is accessible by axe ${problems.join('; ')}`);
}

async function look(page, name, width) {
  await checkAccess(page, name, width);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(overflow <= 0, `${width} px: ${name} is no wider than the window`);
  await page.screenshot({ path: join(output, `ui_${name}_${width}.png`), fullPage: true });
}

async function useTable(page, address, width) {
  await page.goto(address);
  await page.waitForSelector('tbody tr');
  check((await page.locator('tbody tr').count()) === 7, `${width} px: a line for each run`);
  const heads = (await page.locator('thead th').allTextContents()).map((text) => text.replace(/ [↑↓]$/, ''));
  check(heads.includes('batch') && heads.includes('seed') && !heads.includes('model'), `${width} px: settings that differ are columns`);
  check((await page.locator('tbody img').count()) === 0 && (await page.locator('tbody').textContent()).includes(hostile), `${width} px: a hostile name is text`);
  // By keyboard: the filter, then sorted by what the head says.
  await page.focus('input[type=search]');
  await page.keyboard.type('batch=64');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
  check(true, `${width} px: a filter by a setting leaves two`);
  await page.fill('input[type=search]', '');
  await page.focus('button.head:has-text("best top-1")');
  await page.keyboard.press('Enter');
  await page.waitForSelector('th[aria-sort=descending]');
  const best = (await page.locator('tbody tr').evaluateAll((rows) => rows.map((row) => parseFloat([...row.children].map((cell) => cell.textContent).filter((text) => text.endsWith(' %'))[0]))));
  check(best.every((value, i) => i === 0 || value <= best[i - 1]), `${width} px: sorted by accuracy ${best}`);
  await page.selectOption('label:has-text("Group by") select', 'batch');
  await page.waitForSelector('[aria-label="Runs by batch"]');
  check((await page.locator('tbody tr').count()) === 3 && /\d %.*–/.test(await page.locator('tbody tr').first().textContent()), `${width} px: a line for each batch, with mean and range`);
  await page.check('text=parallel axes');
  check((await page.locator('.parallel polyline').count()) === 7, `${width} px: a line over parallel axes for each run`);
  await look(page, 'groups', width);
  await page.uncheck('text=parallel axes');
  await page.selectOption('label:has-text("Group by") select', '');
  for (const box of ['a-16-s1', 'a-16-s2', 'b-64-s1']) await page.check(`[aria-label="choose ${box}"]`);
  await look(page, 'runs', width);
}

async function useCurves(page, width) {
  await page.click('text=Curves of 3');
  await page.waitForSelector('.uplot canvas');
  await page.waitForFunction(() => document.querySelectorAll('.chart').length === 4);
  check(true, `${width} px: four charts`);
  await page.locator('.chart').first().locator('.u-over').hover({ position: { x: 100, y: 100 } });
  const values = await page.locator('.chart').nth(1).locator('.u-value').allTextContents();
  check(values.length > 0 && values.some((text) => /\d/.test(text)), `${width} px: all charts show the values under the cursor`);
  await look(page, 'curves', width);
  await page.selectOption('label:has-text("Mean and band of") select', { label: 'seeds' });
  await page.locator('input[type=range]').fill('0.6');
  await page.check('text=log y');
  await page.selectOption('label:has-text("Against") select', 'seconds');
  await page.waitForSelector('.u-series:not(.quiet) .u-label:has-text("1 more seeds")');
  check((await page.locator('.chart').first().locator('.u-series:not(.quiet) .u-label').count()) === 3, `${width} px: two lines: a mean and a run`);
  await look(page, 'seeds', width);
}

/** A new point must be on the page within a second. */
async function watch(page, folder) {
  const figure = page.locator('.chart[aria-label^="loss by"]');
  const begin = Date.now();
  appendFileSync(join(folder, 'metrics.jsonl'), '{"step":241,"loss":0.0123}\n');
  await page.waitForFunction(() => document.querySelector('.chart[aria-label^="loss by"]')?.getAttribute('aria-label').includes('0.0123'), undefined, { timeout: 5000, polling: 20 });
  const took = Date.now() - begin;
  check(took < 1000, `a new point shows after ${took} ms`);
  // A resume cuts the file and writes on.
  const text = readFileSync(join(folder, 'metrics.jsonl'), 'utf8');
  writeFileSync(join(folder, 'metrics.jsonl'), `${text.split('\n').slice(0, 40).join('\n')}\n{"step":241,"loss":0.0456}\n`);
  await page.waitForFunction(() => document.querySelector('.chart[aria-label^="loss by"]')?.getAttribute('aria-label').includes('0.0456'), undefined, { timeout: 5000 });
  check(await figure.isVisible(), 'a run that was cut is drawn again');
}

async function useRun(page, address, width) {
  await page.goto(`${address}/#run/b-64-s1`);
  await page.waitForSelector('text=To repeat it');
  check((await page.locator('pre').first().textContent()) === `trainyard train --config ${join(runs, 'b-64-s1', 'config.yaml')}`, `${width} px: the command to repeat a run`);
  check((await page.locator('.facts').first().textContent()).includes('learning_rate1.28'), `${width} px: its settings`);
  await page.fill('.notes input', `tag${width}, second`);
  await page.fill('.notes textarea', hostile);
  await page.click('text=Save');
  await page.waitForSelector('text=Saved');
  const notes = JSON.parse(readFileSync(join(runs, 'b-64-s1', 'notes.json'), 'utf8'));
  check(notes.tags.join() === `tag${width},second` && notes.text === hostile, `${width} px: tags and a note are written`);
  await page.click('text=Resume …');
  await page.waitForSelector('text=Resume this run on this machine?');
  await page.click('button:has-text("No")');
  check(await page.locator('text=Resume …').isVisible(), `${width} px: nothing is resumed unless one says so`);
  await page.click('button:has-text("config.yaml")');
  await page.waitForSelector('pre.text:has-text("learning_rate: 1.28")');
  check(true, `${width} px: a text of the run opens`);
  check((await page.locator('svg .wrong').count()) === 6 && (await page.locator('.timeline').count()) === 1, `${width} px: confusion and timeline`);
  await look(page, 'run', width);
}

async function useModel(page, address, width) {
  await page.goto(`${address}/#model?model=resnet50`);
  await page.waitForSelector('.side tbody tr');
  const closed = await page.locator('.side tbody tr').count();
  await page.locator('.side button.link').first().click();
  await page.waitForFunction((before) => document.querySelectorAll('.side tbody tr').length > before, closed);
  check(closed < 20, `${width} px: ${closed} boxes, and more once one is opened`);
  await look(page, 'model', width);
  await page.goto(`${address}/#labs`);
  await page.waitForSelector('.labs li');
  check((await page.locator('.labs li').count()) > 5, `${width} px: labs`);
  await look(page, 'labs', width);
  await page.goto(`${address}/#serve`);
  await page.waitForSelector('text=No server was named');
  await look(page, 'serve', width);
}

async function usePlan(page, address, width) {
  await page.goto(`${address}/#plan?model=vgg16&device=v100&workers=1,8&batch=64`);
  await page.waitForSelector('text=How this was predicted');
  const words = ['predict', 'vgg16', '--device', 'v100', '--workers', '1,8', '--batch', '64', '--json'];
  const asked = await page.evaluate(() => fetch('/api/predict?model=vgg16&device=v100&workers=1,8&batch=64').then((answer) => answer.text()));
  check(asked === execFileSync(trainyard, words, { encoding: 'utf8' }), `${width} px: the answer is that of predict --json`);
  const rows = await page.locator('[aria-label=Predictions] tbody tr').allTextContents();
  check(rows.length === 2 && rows[0].startsWith('v1001'), `${width} px: two rows ${rows[1]}`);
  await page.fill('label:has-text("devices to compare") input', 'v100,a100,none');
  await page.waitForFunction(() => document.querySelectorAll('[aria-label=Predictions] tbody tr').length === 4);
  check((await page.locator('.bad').textContent()).includes("none: "), `${width} px: two devices, and one that is not known`);
  check((await page.locator('.chart circle').count()) === 4, `${width} px: time against cost`);
  // A move of the slider, once the networks are known.
  await page.fill('label:has-text("devices to compare") input', 'v100');
  await page.waitForFunction(() => document.querySelectorAll('[aria-label=Predictions] tbody tr').length === 2);
  const took = await page.evaluate(async () => {
    const times = [];
    for (let batch = 16; batch <= 128; batch *= 2) {
      const begin = performance.now();
      await (await fetch(`/api/predict?model=vgg16&device=v100&workers=1,8&batch=${batch}`)).text();
      times.push(performance.now() - begin);
    }
    return Math.min(...times);
  });
  check(took < 50, `${width} px: a move is answered in ${took.toFixed(1)} ms`);
  await look(page, 'plan', width);
}

async function restart(page, server, address) {
  server.kill('SIGTERM');
  await page.waitForSelector('text=The server does not answer');
  const again = await startServer(trainyard, ['ui', runs], new URL(address).port);
  await page.waitForFunction(() => !document.body.textContent.includes('does not answer'), undefined, { timeout: 10000 });
  check(true, 'the page goes on when the server is back');
  return again.server;
}

rmSync(runs, { recursive: true, force: true });
mkdirSync(runs, { recursive: true });
for (const [name, batch] of [['a-16', 16], ['b-64', 64], ['c-256', 256]]) for (const seed of [1, 2]) makeRun(`${name}-s${seed}`, batch, seed);
addParts(join(runs, 'b-64-s1'));
makeRun(hostile, 16, 3, 2);
const started = await startServer(trainyard, ['ui', runs]);
let { server } = started;
const { address } = started;
const script = gzipSync(Buffer.from(await (await fetch(`${address}/ui.js`)).arrayBuffer())).length;
check(script < 400e3, `the script has ${(script / 1000).toFixed(0)} kB compressed`);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  for (const [width, colorScheme] of [[1200, 'light'], [390, 'dark']]) {
    const context = await browser.newContext({ colorScheme });
    const { page, problems } = await openPage(context, address, width);
    await useTable(page, address, width);
    await useCurves(page, width);
    if (width === 1200) {
      await page.selectOption('label:has-text("Mean and band of") select', { label: 'none' });
      await page.locator('input[type=range]').fill('0');
      await watch(page, join(runs, 'a-16-s2'));
    }
    await useRun(page, address, width);
    await usePlan(page, address, width);
    await useModel(page, address, width);
    check(problems.length === 0, `${width} px: nothing is asked elsewhere and nothing goes wrong ${problems}`);
    if (width === 1200) server = await restart(page, server, address);
    await context.close();
  }
} finally {
  await browser.close();
  server.kill('SIGTERM');
}
finish();
