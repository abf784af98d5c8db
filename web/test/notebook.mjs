// Opens a converted notebook in headless Chromium: charts are drawn inside their frames, and nothing is asked of the network.
import { chromium } from 'playwright-core';

const page = process.argv[2];
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const view = await browser.newPage({ viewport: { width: 1100, height: 900 } });
const asked = [];
// The converter's own page names scripts of its host (MathJax, RequireJS); what our frames ask for is ours.
view.on('request', (request) => {
  if (request.frame() !== view.mainFrame() && /^https?:/.test(request.url())) asked.push(request.url());
});
await view.route(/^https?:/, (route) => route.abort());
await view.goto(`file://${page}`, { waitUntil: 'domcontentloaded' });
const frames = view.frames().filter((frame) => frame !== view.mainFrame());
let drawn = 0;
for (const frame of frames) {
  await frame.waitForSelector('.plot svg', { timeout: 30000 });
  drawn += await frame.locator('.plot svg path').count();
}
await browser.close();
if (frames.length === 0 || drawn === 0 || asked.length > 0) {
  console.error(`FAILED: ${frames.length} frames, ${drawn} paths drawn, asked for ${asked.join(', ') || 'nothing'}`);
  process.exit(1);
}
console.log(`${frames.length} frames, ${drawn} paths drawn, no request`);
