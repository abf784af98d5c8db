// Which classes were taken for which, as a map; behind each cell its pictures.
import { useEffect, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { percent, short } from './ui_text';

interface Confusion { step: number; counts: number[] | number[][]; classes: string[] }
interface Cell { truth: number; guess: number }
interface Pictures { step: number; count: number; pictures: { sample: number; name: string; png: string }[] }

const most = 40; // classes

/** Rows of the matrix, whether it was written flat or not. */
function matrixOf({ counts }: Confusion): number[][] {
  if (counts.length === 0 || Array.isArray(counts[0])) return counts as number[][];
  const size = Math.round(Math.sqrt(counts.length));
  return Array.from({ length: size }, (_, i) => (counts as number[]).slice(i * size, (i + 1) * size));
}

function Pairs({ matrix, name, choose }: { matrix: number[][]; name: (i: number) => string; choose: (cell: Cell) => void }) {
  const pairs = matrix.flatMap((line, truth) => line.map((count, guess) => ({ truth, guess, count }))).filter((pair) => pair.truth !== pair.guess && pair.count > 0).sort((a, b) => b.count - a.count).slice(0, 10);
  if (pairs.length === 0) return <p class="faint">No class was taken for another.</p>;
  return (
    <div class="wide">
      <table>
        <thead><tr><th scope="col">is</th><th scope="col">taken for</th><th scope="col" class="number">images</th></tr></thead>
        <tbody>{pairs.map((pair) => <tr key={`${pair.truth} ${pair.guess}`}><td>{name(pair.truth)}</td><td>{name(pair.guess)}</td><td class="number"><button class="link" aria-label={`show ${pair.count} ${name(pair.truth)} taken for ${name(pair.guess)}`} onClick={() => choose(pair)}>{short(pair.count)}</button></td></tr>)}</tbody>
      </table>
    </div>
  );
}

/** Of the last test, those of one cell. */
function CellPictures({ id, cell, size }: { id: string; cell: Cell; size: number }) {
  const [got, set] = useState<Pictures>();
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => {
    let last = true;
    ask<Pictures>(`/api/runs/${id}/confusion?truth=${cell.truth}&guess=${cell.guess}`).then((found) => { if (last) { set(found); setProblem(undefined); } }, (error: unknown) => { if (last) { set(undefined); setProblem(error); } });
    return () => { last = false; };
  }, [id, cell.truth, cell.guess, size]);
  if (problem !== undefined) return <p class="faint">No pictures: {message(problem)}.</p>;
  if (!got) return <p class="faint">…</p>;
  if (got.pictures.length === 0) return <p class="faint">There is no picture of this kind.</p>;
  return (
    <>
      <ul class="pictures">
        {got.pictures.map((one) => <li key={one.sample}><img src={`data:image/png;base64,${one.png}`} alt={`sample ${one.sample}`} title={one.name} /></li>)}
      </ul>
      {got.count > got.pictures.length && <p class="faint small">The first {got.pictures.length} of {short(got.count)}.</p>}
    </>
  );
}

interface MapProps { matrix: number[][]; name: (i: number) => string; cell?: Cell; choose: (cell: Cell) => void }

function Matrix({ matrix, name, cell, choose }: MapProps) {
  const sums = matrix.map((line) => line.reduce((sum, count) => sum + count, 0));
  const side = Math.max(14, Math.min(36, Math.floor(480 / matrix.length)));
  const left = 112;
  const reach = side * matrix.length;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Confusion matrix">
      <svg width={left + reach + 50} height={reach + 84} role="img" aria-label={`${matrix.length} classes; rows are what images are, columns what they were taken for; the table beside opens cells`}>
        {matrix.map((line, truth) => (
          <g key={truth}>
            <text x={left - 6} y={truth * side + side * 0.62} text-anchor="end" fill="var(--text)">{name(truth).slice(0, 15)}</text>
            {line.map((count, guess) => {
              const share = sums[truth] === 0 ? 0 : count / sums[truth];
              const on = cell?.truth === truth && cell.guess === guess;
              return (
                <g key={guess}>
                  <rect x={left + guess * side} y={truth * side} width={side - 2} height={side - 2} rx={3} class={`cell ${truth === guess ? 'right' : 'wrong'} ${on ? 'on' : ''}`} fill-opacity={count === 0 ? 0.05 : 0.1 + 0.9 * Math.sqrt(share)} onClick={() => choose({ truth, guess })}>
                    <title>{`${name(truth)} taken for ${name(guess)}: ${count} of ${sums[truth]}`}</title>
                  </rect>
                  {side >= 28 && count > 0 && count < 100000 && <text x={left + guess * side + (side - 2) / 2} y={truth * side + side * 0.62} text-anchor="middle" font-size="10" pointer-events="none" fill={share > 0.35 ? 'var(--panel)' : 'var(--text)'}>{count}</text>}
                </g>
              );
            })}
          </g>
        ))}
        {matrix.map((_, guess) => <text key={guess} transform={`translate(${left + guess * side + side * 0.35} ${reach + 12}) rotate(45)`} fill="var(--text)">{name(guess).slice(0, 13)}</text>)}
      </svg>
    </div>
  );
}

export function ConfusionPart({ id, size }: { id: string; size: number }) {
  const [got, set] = useState<Confusion | null>(null);
  const [cell, choose] = useState<Cell>();
  useEffect(() => {
    ask<Confusion | null>(`/api/runs/${id}/confusion`).then(set, () => set(null));
  }, [id, size]);
  if (got === null) return null;
  const matrix = matrixOf(got);
  if (matrix.length === 0) return null;
  const name = (i: number): string => got.classes[i] ?? String(i);
  const sum = cell ? matrix[cell.truth]?.reduce((all, count) => all + count, 0) ?? 0 : 0;
  return (
    <section class="card">
      <h2>Classes taken for others <span class="faint small">after step {short(got.step)}; a click on a cell shows its pictures</span></h2>
      <div class="columns">
        {matrix.length <= most ? <Matrix matrix={matrix} name={name} cell={cell} choose={choose} /> : <p class="faint">{matrix.length} classes are too many for a map.</p>}
        <div>
          {cell && matrix[cell.truth] ? (
            <>
              <p role="status"><strong>{short(matrix[cell.truth][cell.guess])}</strong> of {short(sum)} images of <strong>{name(cell.truth)}</strong> ({percent(sum ? matrix[cell.truth][cell.guess] / sum : 0)}) were taken for <strong>{name(cell.guess)}</strong>. <button class="link" onClick={() => choose(undefined)}>All pairs</button></p>
              <CellPictures id={id} cell={cell} size={size} />
            </>
          ) : <Pairs matrix={matrix} name={name} choose={choose} />}
        </div>
      </div>
    </section>
  );
}
