// The fifth screen: a network as boxes, drawn on a canvas so that ten thousand of them stay smooth.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { writeAddress } from './ui_address';
import { Row, textOf } from './ui_api';
import { milliseconds, tick } from './ui_text';
import { useTheme } from './ui_theme';

interface Box { id: string; title: string; name: string; nodes: number; shape: string; flops: number; bytes: number; parameters: number; predicted_us: number; measured_us: number; here_us: number; x: number; row: number }
interface Measured { runs: number; elsewhere_us: number; calibrated: boolean }
interface Model { name: string; nodes: number; batch: number; measured: Measured | null; boxes: Box[]; edges: [number, number][] }
type Cost = 'flops' | 'bytes' | 'parameters' | 'predicted_us' | 'measured_us' | 'ratio';
interface View { x: number; y: number; scale: number }

const costs: [Cost, string][] = [['flops', 'FLOPs of an image'], ['bytes', 'bytes moved by an image'], ['parameters', 'parameters'], ['predicted_us', 'predicted time of a training batch'], ['measured_us', 'measured time of a batch, here'], ['ratio', 'predicted / measured, here']];
const wantsMeasuring = (cost: Cost): boolean => cost === 'measured_us' || cost === 'ratio';
const costOf = (one: Box, cost: Cost): number => (cost === 'ratio' ? (one.measured_us > 0 && one.here_us > 0 ? one.here_us / one.measured_us : 0) : one[cost]);
const wide = 190;
const high = 74;
const box = { width: 170, height: 48 };

const placeOf = (one: Box): [number, number] => [one.x * wide, one.row * high];
/** Blue: predicted shorter than measured; orange: longer; pale: right. Gray: fused into another node, or not known. */
const ratioShade = (ratio: number): string => {
  if (ratio <= 0) return 'hsl(215 10% 80%)';
  const off = Math.max(-1, Math.min(1, Math.log2(ratio) / 2));
  return `hsl(${off < 0 ? 212 : 24} ${Math.round(75 * Math.min(1, 0.35 + Math.abs(off)))}% ${Math.round(90 - 32 * Math.abs(off))}%)`;
};
/** From pale to strong; what costs nothing is gray. */
const shade = (share: number): string => (share <= 0 ? 'hsl(215 12% 86%)' : `hsl(217 ${Math.round(60 + 18 * share)}% ${Math.round(92 - 47 * Math.sqrt(share))}%)`);
const isDark = (share: number): boolean => share > 0.36;
const titleOf = (one: Box): string => (one.nodes > 1 ? one.name || one.title : one.title);
const shortened = (text: string, letters: number): string => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

function draw(canvas: HTMLCanvasElement, model: Model, cost: Cost, view: View, under: number): void {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
  }
  const context = canvas.getContext('2d');
  if (!context) return;
  const style = getComputedStyle(document.documentElement);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
  const [left, top, right, bottom] = [-view.x / view.scale - wide, -view.y / view.scale - high, (width - view.x) / view.scale + wide, (height - view.y) / view.scale + high];
  context.strokeStyle = style.getPropertyValue('--faint').trim();
  context.lineWidth = Math.max(1, 0.6 / view.scale);
  context.beginPath();
  for (const [from, to] of model.edges) {
    const [x1, y1] = placeOf(model.boxes[from]);
    const [x2, y2] = placeOf(model.boxes[to]);
    if (Math.max(y1, y2) < top || Math.min(y1, y2) > bottom || Math.max(x1, x2) < left || Math.min(x1, x2) > right) continue;
    context.moveTo(x1, y1 + box.height / 2);
    const bend = model.boxes[to].row - model.boxes[from].row > 1 && Math.abs(x1 - x2) < wide / 2 ? wide * 0.7 : 0;
    context.bezierCurveTo(x1 + bend, y1 + high * 0.7, x2 + bend, y2 - high * 0.7, x2, y2 - box.height / 2);
  }
  context.stroke();
  const most = model.boxes.reduce((sum, one) => Math.max(sum, costOf(one, cost)), 1e-30);
  const words = view.scale > 0.35;
  context.textAlign = 'center';
  model.boxes.forEach((one, i) => {
    const [x, y] = placeOf(one);
    if (x < left || x > right || y < top || y > bottom) return;
    context.fillStyle = cost === 'ratio' ? ratioShade(costOf(one, cost)) : shade(costOf(one, cost) / most);
    // Of thousands of boxes the corners are not seen.
    context.beginPath();
    if (words) {
      context.roundRect(x - box.width / 2, y - box.height / 2, box.width, box.height, 7);
      context.fill();
    } else {
      context.fillRect(x - box.width / 2, y - box.height / 2, box.width, box.height);
    }
    if (words && (one.nodes > 1 || i === under)) {
      context.strokeStyle = i === under ? '#e0742b' : '#1d5bd6';
      context.lineWidth = i === under ? 3 : 1.5;
      context.stroke();
    }
    if (!words) return;
    context.fillStyle = cost !== 'ratio' && isDark(costOf(one, cost) / most) ? '#ffffff' : '#10151d';
    context.font = '600 13px Inter, system-ui, sans-serif';
    context.fillText(shortened(titleOf(one), 24), x, y - 4, box.width - 10);
    context.font = '12px Inter, system-ui, sans-serif';
    context.fillText(shortened(one.nodes > 1 ? `${one.nodes} nodes · ${one.shape}` : one.shape, 28), x, y + 14, box.width - 10);
  });
}

function Costs({ boxes, cost, onOpen }: { boxes: Box[]; cost: Cost; onOpen: (id: string) => void }) {
  // Of a ratio, what takes longest is of interest.
  const by: Cost = cost === 'ratio' ? 'measured_us' : cost;
  const all = boxes.reduce((sum, one) => sum + costOf(one, by), 0);
  const sorted = [...boxes].sort((a, b) => costOf(b, by) - costOf(a, by)).slice(0, 60);
  const measured = wantsMeasuring(cost);
  return (
    <div class="wide side" tabIndex={0} role="region" aria-label="What costs most">
      <table>
        <thead><tr><th scope="col">box</th>{measured && <th scope="col" class="number">predicted</th>}<th scope="col" class="number">{measured ? 'measured' : cost === 'predicted_us' ? 'predicted' : cost}</th><th scope="col" class="number">{cost === 'ratio' ? 'ratio' : 'share'}</th></tr></thead>
        <tbody>
          {sorted.map((one) => (
            <tr key={one.id}>
              <th scope="row">{one.nodes > 1 ? <button class="link" title={one.title} onClick={() => onOpen(one.id)}>{titleOf(one)}</button> : <span title={one.title}>{one.name || one.title}</span>}</th>
              {measured && <td class="number">{one.here_us > 0 ? milliseconds(one.here_us / 1000) : '–'}</td>}
              <td class="number">{by.endsWith('_us') ? (costOf(one, by) > 0 ? milliseconds(costOf(one, by) / 1000) : 'fused') : tick(Math.round(costOf(one, by)))}</td>
              <td class="number">{cost === 'ratio' ? (costOf(one, cost) > 0 ? costOf(one, cost).toFixed(2) : '–') : all > 0 ? `${((100 * costOf(one, by)) / all).toFixed(1)} %` : ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Moves and enlarges by pointer, wheel and keys. */
function useView(canvas: { current: HTMLCanvasElement | null }, model: Model | undefined): [View, (view: View) => void] {
  const [view, set] = useState<View>({ x: 0, y: 0, scale: 1 });
  const fitted = useRef('');
  useEffect(() => {
    if (!canvas.current || !model || fitted.current === model.name) return;
    fitted.current = model.name;
    const rows = Math.max(...model.boxes.map((one) => one.row)) + 1;
    const scale = Math.max(0.6, Math.min(1, canvas.current.clientHeight / (rows * high + 20)));
    set({ x: canvas.current.clientWidth / 2, y: scale * (high / 2 + 6), scale });
  }, [model]);
  return [view, set];
}

export function ModelPage({ query, runs }: { query: string; runs: Row[] }) {
  const given = new URLSearchParams(query);
  const [name, setName] = useState(given.get('run') ? '' : given.get('model') ?? 'resnet50');
  const [run, setRun] = useState(given.get('run') ?? '');
  const [device, setDevice] = useState(given.get('device') ?? 'a100');
  const [open, setOpen] = useState<string[]>((given.get('open') ?? '').split(',').filter((id) => id !== ''));
  const [cost, setCost] = useState<Cost>(costs.find(([value]) => value === given.get('color'))?.[0] ?? 'flops');
  const [batch, setBatch] = useState(given.get('batch') ?? '8');
  const [round, measureAgain] = useState(1);
  const theme = useTheme();
  const [model, setModel] = useState<Model>();
  const [problem, setProblem] = useState<unknown>();
  const [under, hover] = useState(-1);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [view, move] = useView(canvas, model);
  const drag = useRef<{ x: number; y: number; far: boolean }>();
  const asked = useMemo(() => {
    const words = new URLSearchParams({ device, batch, open: open.join() });
    if (run) words.set('run', run); else words.set('model', name);
    return words.toString();
  }, [name, run, device, batch, open]);
  const measured = wantsMeasuring(cost) ? `&measured=${round}` : '';
  useEffect(() => {
    let last = true;
    writeAddress('model', { ...Object.fromEntries(new URLSearchParams(asked)), model: run ? '' : name, run });
    ask<Model>(`/api/model?${asked}${measured}`).then((got) => { if (last) { setModel({ ...got, name: `${run}${name}` }); setProblem(undefined); } }, (error: unknown) => { if (last) setProblem(error); });
    return () => { last = false; };
  }, [asked, measured]);
  useEffect(() => writeAddress('model', { color: cost === 'flops' ? '' : cost }), [cost]);
  useEffect(() => {
    if (!canvas.current || !model) return undefined;
    const target = canvas.current;
    const again = (): void => draw(target, model, cost, view, under);
    const frame = requestAnimationFrame(again);
    const fit = new ResizeObserver(again);
    fit.observe(target);
    return () => { cancelAnimationFrame(frame); fit.disconnect(); };
  }, [model, cost, view, under, theme]);
  const toggle = (id: string): void => setOpen((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old.filter((one) => one !== 'all'), id]));
  const at = (event: PointerEvent): number => {
    const area = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [(event.clientX - area.left - view.x) / view.scale, (event.clientY - area.top - view.y) / view.scale];
    return model?.boxes.findIndex((one) => { const [bx, by] = placeOf(one); return Math.abs(x - bx) < box.width / 2 && Math.abs(y - by) < box.height / 2; }) ?? -1;
  };
  const zoom = (factor: number, x: number, y: number): void => {
    const scale = Math.max(0.02, Math.min(4, view.scale * factor));
    move({ scale, x: x - ((x - view.x) * scale) / view.scale, y: y - ((y - view.y) * scale) / view.scale });
  };
  const keys = (event: KeyboardEvent): void => {
    const step: Record<string, [number, number]> = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };
    const middle: [number, number] = [(canvas.current?.clientWidth ?? 0) / 2, (canvas.current?.clientHeight ?? 0) / 2];
    if (step[event.key]) move({ ...view, x: view.x + step[event.key][0], y: view.y + step[event.key][1] });
    else if (event.key === '+') zoom(1.25, ...middle);
    else if (event.key === '-') zoom(0.8, ...middle);
    else return;
    event.preventDefault();
  };
  const shownBox = model?.boxes[under];
  return (
    <>
      <form class="row" onSubmit={(event) => event.preventDefault()}>
        <label>Model <input class="field" value={name} placeholder={run ? 'of the run' : ''} onChange={(event) => { setRun(''); setName(event.currentTarget.value); setOpen([]); }} /></label>
        <label>
          or run <select value={run} onChange={(event) => { setRun(event.currentTarget.value); setName(''); setOpen([]); }}>
            <option value="">none</option>
            {runs.map((row) => <option key={row.id} value={row.id}>{row.name} ({textOf(row.model)})</option>)}
          </select>
        </label>
        <label>Device <input class="field" value={device} onChange={(event) => setDevice(event.currentTarget.value)} /></label>
        <label>Batch <input class="field" style={{ width: '5rem' }} inputMode="numeric" value={batch} onChange={(event) => setBatch(event.currentTarget.value)} /></label>
        <label>
          Color <select value={cost} onChange={(event) => setCost(event.currentTarget.value as Cost)}>{costs.map(([value, text]) => <option key={value} value={value}>{text}</option>)}</select>
        </label>
        {wantsMeasuring(cost) && <button type="button" onClick={() => measureAgain(round + 1)}>Measure again</button>}
        <button type="button" onClick={() => setOpen(['all'])}>Open all</button>
        <button type="button" onClick={() => setOpen([])}>Close all</button>
      </form>
      {problem !== undefined && <p class="bad" role="alert">{message(problem)}</p>}
      <p class="faint" role="status">{shownBox ? `${shownBox.name} ${shownBox.title}: ${shownBox.shape}, ${tick(shownBox.flops)} FLOPs, ${tick(shownBox.bytes)} bytes, ${tick(shownBox.parameters)} parameters, ${milliseconds(shownBox.predicted_us / 1000)} predicted${shownBox.measured_us > 0 ? `, ${milliseconds(shownBox.measured_us / 1000)} measured in use here` : ''}` : model ? `${model.nodes} nodes in ${model.boxes.length} boxes. A framed box opens with a click; drag to move, wheel or + and − to enlarge.` : ''}</p>
      {wantsMeasuring(cost) && model?.measured && <p class="faint">Measured in use on this machine: {model.measured.runs} runs of a batch of {model.batch}. {model.measured.calibrated ? 'Predicted for this machine.' : <>Nothing is predicted for this machine: <code>trainyard calibrate</code> measures it once.</>} What was fused into another node takes no time of its own.</p>}
      <div class="graph">
        <div class="card flush">
        <canvas
          ref={canvas} tabIndex={0} role="application" aria-label="The network; arrows move it, plus and minus enlarge it, the table beside it opens blocks"
          onKeyDown={keys}
          onWheel={(event) => { event.preventDefault(); const area = event.currentTarget.getBoundingClientRect(); zoom(event.deltaY < 0 ? 1.15 : 0.87, event.clientX - area.left, event.clientY - area.top); }}
          onPointerDown={(event) => { event.currentTarget.setPointerCapture(event.pointerId); drag.current = { x: event.clientX, y: event.clientY, far: false }; }}
          onPointerMove={(event) => {
            if (!drag.current) return hover(at(event));
            const [dx, dy] = [event.clientX - drag.current.x, event.clientY - drag.current.y];
            if (!drag.current.far && Math.abs(dx) + Math.abs(dy) < 5) return;
            drag.current = { x: event.clientX, y: event.clientY, far: true };
            move({ ...view, x: view.x + dx, y: view.y + dy });
          }}
          onPointerUp={(event) => {
            const clicked = drag.current && !drag.current.far ? at(event) : -1;
            drag.current = undefined;
            if (model && clicked >= 0 && model.boxes[clicked].nodes > 1) toggle(model.boxes[clicked].id);
          }}
        />
        </div>
        {model && <section class="card flush"><Costs boxes={model.boxes} cost={cost} onOpen={toggle} /></section>}
      </div>
    </>
  );
}
