// Uses the server's page in headless Chromium: node test/serve.mjs TRAINYARD OUTPUT_FOLDER
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { check, chromium, executablePath, finish, startServer } from './chromium.mjs';

const [trainyard, output] = process.argv.slice(2);

/** A picture that the browser itself makes. */
const makePicture = (page) =>
  page.evaluate(async () => {
    const canvas = document.createElement('canvas');
    canvas.width = 64;
    canvas.height = 48;
    const brush = canvas.getContext('2d');
    brush.fillStyle = 'tomato';
    brush.fillRect(0, 0, 40, 48);
    const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'));
    return [...new Uint8Array(await blob.arrayBuffer())];
  });

async function useHome(context, address, width) {
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => !request.url().startsWith(address) && !request.url().startsWith('blob:') && problems.push(`asked for ${request.url()}`));
  await page.setViewportSize({ width, height: 844 });
  await page.goto(address);
  await page.waitForSelector('text=Try resnet20-cifar');
  const picture = await makePicture(page);
  await page.setInputFiles('#picture', { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from(picture) });
  await page.waitForSelector('.label .bar');
  check((await page.locator('.label').count()) === 5, `${width} px: a picture gets five classes`);
  // By keyboard: to the text, change it, to the button, press it.
  await page.focus('#tensor');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('{"inputs":[]}');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.bad');
  check((await page.locator('.bad').textContent()).includes("input 'image' is missing"), `${width} px: a wrong request shows the server's reason`);
  check((await page.locator('pre').first().textContent()).startsWith('curl --data-binary @cat.jpg http'), `${width} px: a curl line is there`);
  await page.waitForFunction(() => document.querySelectorAll('svg path[d^="M"]').length === 3);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(overflow <= 0, `${width} px: nothing is wider than the window`);
  // The wrong request is answered with 400, which the browser's console repeats.
  const unexpected = problems.filter((text) => !text.includes('400'));
  check(unexpected.length === 0, `${width} px: nothing is asked elsewhere and nothing goes wrong ${unexpected}`);
  await page.screenshot({ path: join(output, `serve_${width}.png`), fullPage: true });
  await page.close();
}

/** Boxes of a detector that has learned nothing, so that any score will do. */
async function useDetector(context, address, width) {
  const page = await context.newPage();
  await page.setViewportSize({ width, height: 844 });
  await page.goto(address);
  await page.waitForSelector('#least');
  const picture = await makePicture(page);
  await page.setInputFiles('#picture', { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from(picture) });
  await page.waitForSelector('text=No box has that score');
  await page.fill('#least', '0');
  await page.keyboard.press('Tab');
  await page.waitForSelector('.found rect');
  const boxes = await page.locator('.found rect').count();
  check(boxes > 0 && boxes <= 200, `${width} px: ${boxes} boxes on the picture`);
  check((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${width} px: boxes are no wider than the window`);
  await page.screenshot({ path: join(output, `serve_boxes_${width}.png`), fullPage: true });
  await page.close();
}

mkdirSync(output, { recursive: true });
const { server, address } = await startServer(trainyard, ['serve', 'resnet20-cifar']);
const detector = await startServer(trainyard, ['serve', 'ssd300-mobilenet_v1']);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const context = await browser.newContext();
  await useHome(context, address, 1200);
  await useHome(context, address, 390);
  await useDetector(context, detector.address, 1200);
  await useDetector(context, detector.address, 390);
  const page = await context.newPage();
  await page.goto(`${address}/docs`);
  await page.waitForSelector('details');
  check((await page.locator('details').count()) > 10, 'the calls are described');
  await page.screenshot({ path: join(output, 'serve_docs.png') });
} finally {
  await browser.close();
  server.kill('SIGTERM');
  detector.server.kill('SIGTERM');
}
finish();
