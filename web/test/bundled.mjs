// Prints the npm packages whose code ends in a bundle, one per line: node bundled.mjs ENTRY…
import { build } from 'esbuild';

const { metafile } = await build({
  entryPoints: process.argv.slice(2),
  bundle: true,
  minify: true,
  write: false,
  outdir: 'nowhere',
  metafile: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
});
const names = new Set();
for (const output of Object.values(metafile.outputs)) {
  for (const [file, { bytesInOutput }] of Object.entries(output.inputs)) {
    const name = file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
    if (name && bytesInOutput > 0) names.add(name);
  }
}
console.log([...names].sort().join('\n'));
