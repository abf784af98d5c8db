// Uses the page of run directories in headless Chromium: node test/ui.mjs TRAINYARD OUTPUT_FOLDER
import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
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
  await saveView(page, width);
  for (const box of ['a-16-s1', 'a-16-s2', 'b-64-s1']) await page.check(`[aria-label="choose ${box}"]`);
  await look(page, 'runs', width);
}

/** Another window that is given the address shows the same. */
async function checkLink(page) {
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForSelector('.chart[aria-label^="loss by time"][aria-label*="(2 seeds)"]');
  const state = await other.evaluate(() => [document.querySelector('input[type=range]').value, [...document.querySelectorAll('.tick input')].map((box) => box.checked).join(), document.querySelectorAll('.list input:checked').length]);
  check(state.join(' ') === '0.6 true,false,false 3', `a link holds what is shown: ${state.join(' ')}`);
  await other.close();
}

/** What is shown, as a file that draws it without the server. */
async function saveView(page, width) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('[aria-label="Save as a report"]')]);
  const file = join(output, `ui_saved_${width}.html`);
  await download.saveAs(file);
  const other = await page.context().newPage();
  const problems = [];
  other.on('pageerror', (error) => problems.push(String(error)));
  await other.goto(`file://${file}`);
  await other.waitForSelector('figure.chart svg path', { state: 'attached' });
  const drawn = await other.evaluate(() => ({ charts: document.querySelectorAll('figure.chart').length, tables: document.querySelectorAll('.table table').length, hostile: document.querySelectorAll('img[src=x]').length }));
  check(drawn.charts >= 2 && drawn.tables >= 1 && drawn.hostile === 0 && problems.length === 0, `${width} px: the view as one file: ${JSON.stringify(drawn)} ${problems}`);
  await other.close();
}

async function useCurves(page, width) {
  await page.click('text=Curves of 3');
  await page.waitForSelector('.uplot canvas');
  await page.waitForFunction(() => document.querySelectorAll('.chart').length === 4);
  check(true, `${width} px: four charts`);
  await page.locator('.chart').first().locator('.u-over').hover({ position: { x: 100, y: 100 } });
  await page.waitForFunction(() => document.querySelectorAll('.tip .value').length > 4);
  const values = await page.locator('.chart').nth(1).locator('.tip .value').allTextContents();
  // By then one of them has been cut, and has ended before.
  check(values.length === (width === 1200 ? 3 : 2) && values.every((text) => /\d/.test(text)), `${width} px: all charts show the values under the cursor ${values}`);
  await look(page, 'curves', width);
  await page.selectOption('label:has-text("Mean and band of") select', { label: 'seeds' });
  await page.locator('input[type=range]').fill('0.6');
  await page.check('text=log y');
  await page.selectOption('label:has-text("Against") select', 'seconds');
  await page.waitForSelector('.chart[aria-label^="loss by time"][aria-label*="(2 seeds)"]');
  await page.locator('.chart').first().locator('.u-over').hover({ position: { x: 120, y: 90 } });
  await page.waitForFunction(() => document.querySelector('.chart .tip .name'));
  check((await page.locator('.chart').first().locator('.tip .name').count()) === 2, `${width} px: two lines: a mean and a run`);
  await look(page, 'seeds', width);
  await checkLink(page);
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
  await page.click('.notes button');
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
  await page.locator('svg .wrong').first().click();
  await page.waitForSelector('text=No pictures: the run did not record');
  check(true, `${width} px: a run without pictures says so`);
  await look(page, 'run', width);
}

/** A run that trains while the page is open; then its pictures and histograms. */
async function useRealRun(context) {
  const folder = join(output, 'ui_real');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const started = await startServer(trainyard, ['ui', folder]);
  const { page, problems } = await openPage(context, started.address, 1200);
  try {
    await page.goto(started.address);
    await page.waitForSelector('text=There is no run in these folders yet');
    const words = ['train', '--model', 'lenet5', '--data', 'synthetic:1x28x28,classes=4,size=256', '--label-noise', '0.5', '--epochs', '3', '--batch', '16', '--histograms', '--quiet', '--runs-dir', folder, '--name', 'real'];
    const training = promisify(execFile)(trainyard, words);
    await page.waitForSelector('tbody tr:has-text("real")', { timeout: 30000 });
    await training;
    await page.waitForSelector('.pill.finished', { timeout: 30000 });
    check(true, 'a run that begins appears by itself, and ends');
    await page.goto(`${started.address}/#run/real`);
    await page.waitForSelector('optgroup[label=gradients]', { state: 'attached' });
    for (const kind of ['weights and states', 'gradients', 'activations']) {
      const name = await page.locator(`optgroup[label="${kind}"] option`).first().getAttribute('value');
      await page.selectOption('label:has-text("Of") select', name);
      await page.waitForSelector(`svg[aria-label^="${name} in 3 steps"]`);
    }
    check(true, 'histograms of weights, gradients and activations');
    await page.locator('svg .right').first().click();
    await page.waitForSelector('.pictures img');
    const sizes = await page.locator('.pictures img').evaluateAll((images) => images.map((image) => image.naturalWidth));
    const count = Number(await page.locator('[role=status] strong').first().textContent());
    check(sizes.length === Math.min(48, count) && sizes.every((size) => size === 28), `a cell shows its ${sizes.length} pictures of ${count}`);
    await look(page, 'real', 1200);
    // Measured on this machine, node by node.
    await page.goto(`${started.address}/#model?run=real&batch=4&color=measured_us`);
    await page.waitForSelector('text=Measured in use on this machine');
    const measured = await page.locator('.side tbody tr').first().locator('td').nth(1).textContent();
    check(/\d m?s/.test(measured), `the longest box takes ${measured}`);
    await runLab(page, started.address);
    check(problems.length === 0, `a real run: nothing goes wrong ${problems}`);
    await tryModel(context, folder);
  } finally {
    started.server.kill('SIGTERM');
  }
}

/** A lab is started from the page, its cells are watched, and its report can be read. */
async function runLab(page, address) {
  await page.goto(`${address}/#labs`);
  const card = page.locator('.labs li', { has: page.locator('code', { hasText: /^paleo-scaling$/ }) });
  await card.getByRole('button', { name: 'Run …' }).click();
  await card.getByRole('button', { name: /^Run it/ }).click();
  await card.locator('summary .pill.done').waitFor({ timeout: 30000 });
  await card.locator('summary').click();
  const cells = await card.locator('.cells tbody tr').allTextContents();
  check(cells.length > 1 && cells.every((text) => /^done.*\d s$/.test(text)), `${cells.length} cells of a lab: ${cells.map((text) => text.slice(-40)).join(' | ')}`);
  const answer = await page.request.get(`${address}${await card.getByRole('link', { name: 'Report' }).getAttribute('href')}`);
  check(answer.ok() && (await answer.text()).includes('<figure'), 'the report of a lab that has run');
  await look(page, 'lab', 1200);
}

/** Ten thousand boxes, all of them in sight, are moved. */
async function useLargeGraph(context, address) {
  const { page, problems } = await openPage(context, address, 1200);
  const boxes = Array.from({ length: 10000 }, (_, i) => ({ id: String(i), title: 'Conv', name: `n${i}`, nodes: 1, shape: '1x8', flops: i, bytes: 1, parameters: 1, predicted_us: 1, measured_us: 0, here_us: 0, x: i % 100, row: Math.floor(i / 100) }));
  const edges = boxes.slice(100).map((_, i) => [i, i + 100]);
  await page.route('**/api/model?*', (route) => route.fulfill({ json: { name: 'large', nodes: 10000, batch: 1, measured: null, boxes, edges } }));
  await page.goto(`${address}/#model?model=large`);
  await page.waitForSelector('text=10000 nodes in 10000 boxes');
  await page.focus('canvas');
  for (let i = 0; i < 12; ++i) await page.keyboard.press('-');
  const area = await page.locator('canvas').boundingBox();
  await page.mouse.move(area.x + 300, area.y + 200);
  await page.mouse.down();
  await page.evaluate(() => {
    window.frames = [];
    let last = performance.now();
    const note = (now) => { window.frames.push(now - last); last = now; if (window.frames.length < 400) requestAnimationFrame(note); };
    requestAnimationFrame(note);
  });
  for (let i = 0; i < 40; ++i) await page.mouse.move(area.x + 300 + 5 * i, area.y + 200 + 2 * i);
  await page.mouse.up();
  const frames = await page.evaluate(() => window.frames.sort((a, b) => a - b));
  const middle = frames[Math.floor(frames.length / 2)];
  check(middle < 100 && problems.length === 0, `10,000 boxes: half of ${frames.length} frames take at most ${middle.toFixed(1)} ms ${problems}`);
  await page.screenshot({ path: join(output, 'ui_large.png') });
}

/** A server of the trained network, asked through the page. */
async function tryModel(context, folder) {
  const inference = await startServer(trainyard, ['serve', join(folder, 'real', 'model.onnx')]);
  const started = await startServer(trainyard, ['ui', folder, '--server', inference.address]);
  const { page, problems } = await openPage(context, started.address, 1200);
  try {
    await page.goto(`${started.address}/#serve`);
    await page.click('.try button.main');
    await page.waitForSelector('.try [role=status]:has-text("ms from here and back")');
    check(problems.length === 0, `a model of a server answers through the page ${problems}`);
    await look(page, 'tried', 1200);
  } finally {
    started.server.kill('SIGTERM');
    inference.server.kill('SIGTERM');
  }
}

/** On the widest screens, and on paper. */
async function useWide(context, address) {
  const { page, problems } = await openPage(context, address, 2560);
  for (const [name, hash, ready] of [['runs', 'runs', '.chart'], ['curves', 'curves', '.chart'], ['run', 'run/b-64-s1', '.tiles'], ['plan', 'plan?model=lenet5', '.chart circle'], ['model', 'model?model=resnet50', '.side tbody tr']]) {
    await page.goto(`${address}/#${hash}`);
    await page.waitForSelector(ready);
    await look(page, name, 2560);
  }
  await page.emulateMedia({ media: 'print' });
  const printed = await page.evaluate(() => getComputedStyle(document.querySelector('.top')).display);
  check(printed === 'none', 'on paper there are no controls');
  await page.emulateMedia({ media: 'screen' });
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await back();
  await page.click('[aria-label="Change between light and dark"]');
  check((await back()) !== before, 'light and dark change places');
  check(problems.length === 0, `2560 px: nothing goes wrong ${problems}`);
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
  check((await page.locator('main .bad').textContent()).includes("none: "), `${width} px: two devices, and one that is not known`);
  check((await page.locator('.chart:has-text("Time and cost") circle').count()) === 4, `${width} px: time against cost`);
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
  await page.fill('label:has-text("model") input', 'lenet5');
  await page.waitForSelector('.chart:has-text("Step by batch") circle.measured');
  check((await page.locator('.chart:has-text("Step by batch") circle.measured').count()) === 7, `${width} px: own runs are points beside the predicted curve`);
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
  const context = await browser.newContext({ colorScheme: 'light' });
  await useWide(context, address);
  await useLargeGraph(context, address);
  await useRealRun(context);
  await context.close();
} finally {
  await browser.close();
  server.kill('SIGTERM');
}
finish();
