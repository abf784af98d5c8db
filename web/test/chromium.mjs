// What tests in headless Chromium share: the browser, and checks that are counted.
// Ends with 77 (skipped, for ctest) where there is no Chromium or playwright-core.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const SKIPPED = 77;

function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(SKIPPED);
}

export const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) skip('there is no Chromium (Debian: chromium)');

/** Playwright's driver of it. */
export const { chromium } = await import('playwright-core').catch(() => skip('the packages of web/ are not installed (npm ci in web/)'));

/** The process of a server and its address, once it is ready. */
export async function startServer(trainyard, words, port = 0) {
  const server = spawn(trainyard, [...words, '--port', String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: server.stdout })) {
    const address = line.match(/^page {2}(http.*)\/$/)?.[1];
    if (address) return { server, address };
  }
  throw new Error('the server ended');
}

let failures = 0;

export function check(condition, what) {
  console.log(`${condition ? 'ok  ' : 'FAIL'} ${what}`);
  if (!condition) failures += 1;
}

/** Ends the process: 0 if every check held, 1 otherwise. */
export function finish() {
  console.log(failures === 0 ? 'all is well' : `${failures} failed`);
  process.exit(failures === 0 ? 0 : 1);
}
