// Bundles the script of reports into one file: node build.mjs OUTPUT
import { build } from 'esbuild';

await build({
  entryPoints: ['src/report.ts'],
  outfile: process.argv[2] ?? 'report.js',
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['es2020'],
  charset: 'utf8',
  legalComments: 'eof',
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning',
});
