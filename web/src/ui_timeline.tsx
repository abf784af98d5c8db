// Who computed, exchanged and waited when, drawn on a canvas.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask } from './ask';
import { colorOf } from './ui_colors';
import { milliseconds, short } from './ui_text';
import { colorNamed, useTheme } from './ui_theme';

interface Span { rank: string; name: string; kind: string; begin_us: number; length_us: number }
interface Timeline { spans: Span[]; left_out: number }
interface View { from: number; to: number }

const lane = 28;
const names = 84; // pixels for the names of ranks

// What they are is the same in every run.
const kindColors: Record<string, string> = { compute: colorOf(0), input: colorOf(1), exchange: colorOf(4), waiting: '#a3adba' };
const colorOfKind = (kind: string, kinds: string[]): string => kindColors[kind] ?? colorOf(kinds.indexOf(kind));

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
  const scale = (width - names) / (view.to - view.from);
  const places = new Map(ranks.map((rank, i) => [rank, i * lane + 3]));
  context.font = '11px Inter, system-ui, sans-serif';
  for (const span of spans) {
    const begin = names + (span.begin_us - view.from) * scale;
    const end = begin + span.length_us * scale;
    if (end < names || begin > width) continue;
    const x = Math.max(names, begin);
    const long = Math.max(0.6, end - x - 0.5);
    const y = places.get(span.rank) ?? 0;
    context.fillStyle = colorOfKind(span.kind, kinds);
    context.fillRect(x, y, long, lane - 6);
    if (long < 44) continue;
    context.fillStyle = '#fff';
    context.fillText(span.name.slice(0, Math.floor(long / 6.5)), x + 5, y + 15);
  }
  context.fillStyle = colorNamed('--text');
  for (const rank of ranks) context.fillText(rank.slice(0, 13), 6, (places.get(rank) ?? 0) + 15);
}

export function TimelinePart({ id }: { id: string }) {
  const [timeline, set] = useState<Timeline | null>(null);
  const [view, look] = useState<View>({ from: 0, to: 1 });
  const [under, hover] = useState<Span>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  useEffect(() => {
    ask<Timeline | null>(`/api/runs/${id}/timeline`).then((got) => {
      set(got);
      if (got && got.spans.length > 0) look({ from: Math.min(...got.spans.map((span) => span.begin_us)), to: Math.max(...got.spans.map((span) => span.begin_us + span.length_us)) });
    }, () => set(null));
  }, [id]);
  const ranks = useMemo(() => [...new Set((timeline?.spans ?? []).map((span) => span.rank))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })), [timeline]);
  const kinds = useMemo(() => [...new Set((timeline?.spans ?? []).map((span) => span.kind))].sort(), [timeline]);
  useEffect(() => {
    if (!canvas.current || !timeline) return undefined;
    const target = canvas.current;
    const again = (): void => draw(target, timeline.spans, ranks, kinds, view);
    again();
    const fit = new ResizeObserver(again);
    fit.observe(target);
    return () => fit.disconnect();
  }, [timeline, view, ranks, kinds, theme]);
  if (!timeline || timeline.spans.length === 0) return null;
  const zoom = (factor: number, shift = 0): void => {
    const [middle, half] = [(view.from + view.to) / 2, ((view.to - view.from) / 2) * factor];
    const move = shift * (view.to - view.from);
    look({ from: middle - half + move, to: middle + half + move });
  };
  const find = (event: MouseEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const time = view.from + ((event.clientX - box.left - names) / (box.width - names)) * (view.to - view.from);
    const rank = ranks[Math.floor((event.clientY - box.top) / lane)];
    hover(timeline.spans.find((span) => span.rank === rank && span.begin_us <= time && time <= span.begin_us + span.length_us));
  };
  return (
    <section class="card">
      <h2>Who was busy when</h2>
      <div class="row">
        <button onClick={() => zoom(0.5)}>Closer</button>
        <button onClick={() => zoom(2)}>Farther</button>
        <button aria-label="earlier" onClick={() => zoom(1, -0.3)}>←</button>
        <button aria-label="later" onClick={() => zoom(1, 0.3)}>→</button>
        {kinds.map((kind) => <span key={kind}><span class="dot" style={{ background: colorOfKind(kind, kinds) }} /> {kind || 'other'}</span>)}
      </div>
      <canvas ref={canvas} class="timeline" style={{ height: `${ranks.length * lane}px` }} role="img" aria-label={`${timeline.spans.length} pieces of work of ${ranks.length} threads`} onMouseMove={find} onMouseLeave={() => hover(undefined)} />
      <p class="faint" role="status">{under ? `${under.rank}: ${under.name}, ${milliseconds(under.length_us / 1000)} at ${milliseconds(under.begin_us / 1000)}` : `${short(timeline.spans.length)} pieces of work${timeline.left_out > 0 ? `; ${short(timeline.left_out)} shorter ones are left out` : ''}`}</p>
    </section>
  );
}
