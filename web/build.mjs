// Bundles a script into one file: node build.mjs ENTRY OUTPUT
import { build } from 'esbuild';

await build({
  entryPoints: [process.argv[2] ?? 'src/report.ts'],
  outfile: process.argv[3] ?? 'report.js',
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['es2020'],
  charset: 'utf8',
  legalComments: 'eof',
  loader: { '.css': 'text' },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning',
});
