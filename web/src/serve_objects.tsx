// What a detector found: boxes on the picture, and the same as a table.
import { useState } from 'preact/hooks';
import { OutputTensor } from './serve_api';

interface Found { label: string; score: number; box: number[] }

const mostRows = 20;

function found(outputs: OutputTensor[]): Found[] {
  const data = (name: string): OutputTensor['data'] => outputs.find((tensor) => tensor.name === name)?.data ?? [];
  const [boxes, scores] = [data('boxes').map(Number), data('scores').map(Number)];
  return data('labels').map((label, i) => ({ label: String(label), score: scores[i], box: boxes.slice(4 * i, 4 * i + 4) }));
}

// The same label, the same color.
function color(label: string): string {
  let hash = 0;
  for (const letter of label) hash = (hash * 31 + letter.charCodeAt(0)) % 360;
  return `hsl(${hash} 85% 45%)`;
}

function Boxes({ objects, picture }: { objects: Found[]; picture: string }) {
  const [size, setSize] = useState([0, 0]);
  const text = size[1] / 24;
  return (
    <div class="found">
      <img src={picture} alt={`the picture, with ${objects.length} boxes`} onLoad={(event) => setSize([event.currentTarget.naturalWidth, event.currentTarget.naturalHeight])} />
      {size[0] > 0 && (
        <svg viewBox={`0 0 ${size[0]} ${size[1]}`} aria-hidden="true">
          {[...objects].reverse().map(({ label, box: [left, top, right, bottom] }) => (
            <g>
              <rect x={left} y={top} width={right - left} height={bottom - top} stroke={color(label)} />
              <text x={left + text / 4} y={top + text} font-size={text} fill={color(label)} stroke="white" stroke-width={text / 8} paint-order="stroke">{label}</text>
            </g>
          ))}
        </svg>
      )}
    </div>
  );
}

export function Objects({ outputs, picture }: { outputs: OutputTensor[]; picture: string }) {
  const objects = found(outputs);
  return (
    <>
      <Boxes objects={objects} picture={picture} />
      {objects.length === 0 && <p>No box has that score.</p>}
      {objects.slice(0, mostRows).map(({ label, score }) => (
        <div class="label">
          <span>{label}</span>
          <div class="bar" style={{ width: `${score * 100}%` }} />
          <span class="number">{score.toFixed(4)}</span>
        </div>
      ))}
      {objects.length > mostRows && <p class="faint">and {objects.length - mostRows} more</p>}
    </>
  );
}
