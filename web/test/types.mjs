// Checks the types of the script; ends with 77 (skipped) where TypeScript is not installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = join(dirname(fileURLToPath(import.meta.url)), '..');
const compiler = join(web, 'node_modules', 'typescript', 'bin', 'tsc');
if (!existsSync(compiler)) {
  console.log('skipped: the packages of web/ are not installed (npm ci in web/)');
  process.exit(77);
}
process.exit(spawnSync(process.execPath, [compiler, '--noEmit', '-p', web], { stdio: 'inherit' }).status ?? 1);
