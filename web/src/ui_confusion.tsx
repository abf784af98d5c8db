// Which classes were taken for which, as a map.
import { useEffect, useState } from 'preact/hooks';
import { ask } from './ask';
import { percent, short } from './ui_text';

interface Confusion { step: number; counts: number[] | number[][]; classes: string[] }
interface Cell { truth: number; guess: number }

const most = 40; // classes

/** Rows of the matrix, whether it was written flat or not. */
function matrixOf({ counts }: Confusion): number[][] {
  if (counts.length === 0 || Array.isArray(counts[0])) return counts as number[][];
  const size = Math.round(Math.sqrt(counts.length));
  return Array.from({ length: size }, (_, i) => (counts as number[]).slice(i * size, (i + 1) * size));
}

function Pairs({ matrix, name }: { matrix: number[][]; name: (i: number) => string }) {
  const pairs = matrix.flatMap((line, truth) => line.map((count, guess) => ({ truth, guess, count }))).filter((pair) => pair.truth !== pair.guess && pair.count > 0).sort((a, b) => b.count - a.count).slice(0, 10);
  return (
    <div class="wide">
      <table>
        <thead><tr><th scope="col">is</th><th scope="col">taken for</th><th scope="col" class="number">images</th></tr></thead>
        <tbody>{pairs.map((pair) => <tr key={`${pair.truth} ${pair.guess}`}><td>{name(pair.truth)}</td><td>{name(pair.guess)}</td><td class="number">{short(pair.count)}</td></tr>)}</tbody>
      </table>
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
  const sums = matrix.map((line) => line.reduce((sum, count) => sum + count, 0));
  const side = Math.max(14, Math.min(34, Math.floor(640 / matrix.length)));
  const left = 110;
  return (
    <section>
      <h2>Classes taken for others, after step {short(got.step)}</h2>
      <div class="columns">
        {matrix.length <= most ? (
          <div class="wide" tabIndex={0} role="region" aria-label="Confusion matrix">
            <svg width={left + side * matrix.length + 10} height={side * matrix.length + 100} role="img" aria-label={`${matrix.length} classes; rows are what images are, columns what they were taken for`}>
              {matrix.map((line, truth) => (
                <g key={truth}>
                  <text x={left - 6} y={truth * side + side * 0.7} text-anchor="end" fill="var(--text)">{name(truth).slice(0, 14)}</text>
                  {line.map((count, guess) => (
                    <rect key={guess} x={left + guess * side} y={truth * side} width={side - 1} height={side - 1} class={truth === guess ? 'right' : 'wrong'} fill-opacity={sums[truth] === 0 || count === 0 ? 0.04 : 0.1 + 0.9 * Math.sqrt(count / sums[truth])} onClick={() => choose({ truth, guess })}>
                      <title>{`${name(truth)} taken for ${name(guess)}: ${count} of ${sums[truth]}`}</title>
                    </rect>
                  ))}
                </g>
              ))}
              {matrix.map((_, guess) => <text key={guess} transform={`translate(${left + guess * side + side * 0.7} ${matrix.length * side + 8}) rotate(60)`} fill="var(--text)">{name(guess).slice(0, 14)}</text>)}
            </svg>
          </div>
        ) : <p class="faint">{matrix.length} classes are too many for a map.</p>}
        <div>
          {cell && <p role="status">{short(matrix[cell.truth][cell.guess])} of {short(sums[cell.truth])} images of {name(cell.truth)} ({percent(sums[cell.truth] ? matrix[cell.truth][cell.guess] / sums[cell.truth] : 0)}) were taken for {name(cell.guess)}.</p>}
          <Pairs matrix={matrix} name={name} />
        </div>
      </div>
    </section>
  );
}
