// How long it takes from the start of a program until its page lists the runs that bench/make_peer_runs.py wrote, in headless Chromium:
// node bench/compare_run_pages.mjs FOLDER TIMES TRAINYARD [TENSORBOARD]
// Times in milliseconds, one line of JSON for each start; memory is that of the server and its children.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { chromium } = createRequire(new URL('../web/package.json', import.meta.url))('playwright-core');
const [folder, times, trainyard, tensorboard] = process.argv.slice(2);
const port = 18790;
const programs = [{
  name: 'trainyard', line: [trainyard, 'ui', join(folder, 'trainyard'), '--port', String(port)],
  listed: (page) => page.waitForSelector('.runs tbody tr', { state: 'attached', timeout: 90000 }),
  curve: (page) => page.waitForSelector('.uplot canvas', { timeout: 90000 }),
}];
if (tensorboard) {
  programs.push({
    name: 'tensorboard', line: [tensorboard, '--logdir', join(folder, 'tensorboard'), '--port', String(port), '--load_fast', 'auto'],
    listed: (page) => page.waitForSelector('runs-data-table tb-data-table-content-row', { state: 'attached', timeout: 90000 }),
  });
}

/** Of a process and those that it has started, in MB. */
function memoryOf(process) {
  const parents = new Map();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch { /* it has ended */ }
  }
  const belongs = (one) => one === process || (parents.has(one) && parents.get(one) > 1 && belongs(parents.get(one)));
  const size = (one) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0);
  return Math.round([...parents.keys()].filter(belongs).reduce((sum, one) => sum + size(one), 0) / 1000);
}

async function answers(address) {
  for (;;) {
    try { if ((await fetch(address)).ok) return; } catch { /* not yet */ }
    await new Promise((done) => setTimeout(done, 10));
  }
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'] });
await (await browser.newPage()).goto('about:blank');
for (let time = 0; time < Number(times); ++time) {
  for (const program of programs) {
    const page = await browser.newPage({ viewport: { width: 1360, height: 800 } });
    const found = { program: program.name };
    const begin = performance.now();
    const note = (name) => { found[name] = Math.round(performance.now() - begin); };
    const server = spawn(program.line[0], program.line.slice(1), { stdio: 'ignore' });
    const address = `http://127.0.0.1:${port}/`;
    try {
      await answers(address);
      note('answers_ms');
      await page.goto(address, { waitUntil: 'commit' });
      await program.listed(page);
      note('listed_ms');
      if (program.curve) { await program.curve(page); note('curve_ms'); }
      await page.waitForTimeout(3000);
      found.memory_mb = memoryOf(server.pid);
      const again = performance.now();
      await page.goto('about:blank');
      await page.goto(address, { waitUntil: 'commit' });
      await program.listed(page);
      found.listed_again_ms = Math.round(performance.now() - again);
    } catch (problem) {
      found.problem = String(problem).split('\n')[0];
    }
    console.log(JSON.stringify(found));
    await page.close();
    server.kill('SIGTERM');
    await new Promise((done) => { server.on('exit', done); });
  }
}
await browser.close();
