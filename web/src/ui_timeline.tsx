// Who computed, exchanged and waited when, drawn on a canvas.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask } from './ask';
import { colorOf } from './ui_colors';
import { milliseconds, short } from './ui_text';

interface Span { rank: string; name: string; kind: string; begin_us: number; length_us: number }
interface Timeline { spans: Span[]; left_out: number }
interface View { from: number; to: number }

const lane = 26;

function draw(canvas: HTMLCanvasElement, spans: Span[], ranks: string[], kinds: string[], view: View): void {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = ranks.length * lane;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, height);
  const scale = width / (view.to - view.from);
  for (const span of spans) {
    const x = (span.begin_us - view.from) * scale;
    const long = span.length_us * scale;
    if (x + long < 0 || x > width) continue;
    const y = ranks.indexOf(span.rank) * lane + 2;
    context.fillStyle = colorOf(kinds.indexOf(span.kind));
    context.fillRect(x, y, Math.max(0.6, long - 0.5), lane - 4);
    if (long < 40) continue;
    context.fillStyle = '#fff';
    context.fillText(span.name.slice(0, Math.floor(long / 6)), Math.max(0, x) + 3, y + 14);
  }
}

export function TimelinePart({ id }: { id: string }) {
  const [timeline, set] = useState<Timeline | null>(null);
  const [view, look] = useState<View>({ from: 0, to: 1 });
  const [under, hover] = useState<Span>();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    ask<Timeline | null>(`/api/runs/${id}/timeline`).then((got) => {
      set(got);
      if (got && got.spans.length > 0) look({ from: Math.min(...got.spans.map((span) => span.begin_us)), to: Math.max(...got.spans.map((span) => span.begin_us + span.length_us)) });
    }, () => set(null));
  }, [id]);
  const ranks = useMemo(() => [...new Set((timeline?.spans ?? []).map((span) => span.rank))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })), [timeline]);
  const kinds = useMemo(() => [...new Set((timeline?.spans ?? []).map((span) => span.kind))].sort(), [timeline]);
  useEffect(() => {
    if (canvas.current && timeline) draw(canvas.current, timeline.spans, ranks, kinds, view);
  }, [timeline, view, ranks, kinds]);
  if (!timeline || timeline.spans.length === 0) return null;
  const zoom = (factor: number, shift = 0): void => {
    const [middle, half] = [(view.from + view.to) / 2, ((view.to - view.from) / 2) * factor];
    const move = shift * (view.to - view.from);
    look({ from: middle - half + move, to: middle + half + move });
  };
  const find = (event: MouseEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const time = view.from + ((event.clientX - box.left) / box.width) * (view.to - view.from);
    const rank = ranks[Math.floor((event.clientY - box.top) / lane)];
    hover(timeline.spans.find((span) => span.rank === rank && span.begin_us <= time && time <= span.begin_us + span.length_us));
  };
  return (
    <section>
      <h2>Who was busy when</h2>
      <div class="row">
        <button onClick={() => zoom(0.5)}>Closer</button>
        <button onClick={() => zoom(2)}>Farther</button>
        <button aria-label="earlier" onClick={() => zoom(1, -0.3)}>←</button>
        <button aria-label="later" onClick={() => zoom(1, 0.3)}>→</button>
        {kinds.map((kind, i) => <span key={kind}><span class="dot" style={{ background: colorOf(i) }} /> {kind || 'other'}</span>)}
      </div>
      <canvas ref={canvas} class="timeline" style={{ height: `${ranks.length * lane}px` }} role="img" aria-label={`${timeline.spans.length} pieces of work of ${ranks.length} threads`} onMouseMove={find} onMouseLeave={() => hover(undefined)} />
      <p class="faint" role="status">{under ? `${under.rank}: ${under.name}, ${milliseconds(under.length_us / 1000)} at ${milliseconds(under.begin_us / 1000)}` : `${short(timeline.spans.length)} pieces of work${timeline.left_out > 0 ? `; ${short(timeline.left_out)} shorter ones are left out` : ''}`}</p>
    </section>
  );
}
