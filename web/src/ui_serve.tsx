// The sixth screen: an inference server, while it runs.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { askThrough, loadModel, ModelInfo } from './serve_api';
import { TryIt } from './serve_try';
import { actionHeaders } from './ui_api';
import { milliseconds, short } from './ui_text';

interface CountTime { count: number; ns: number }
interface Stats { name: string; version: string; inference_count: number; execution_count: number; inference_stats: Record<string, CountTime> }
interface Entry { name: string; version?: string; state: string; reason: string }
interface Server { address: string | null; models: Entry[]; stats: { model_stats: Stats[] }; metrics: string }
interface Bucket { below: number; count: number }

/** Of Prometheus' text: buckets of the histogram of whole requests, by model. */
function latencies(metrics: string): Map<string, Bucket[]> {
  const found = new Map<string, Bucket[]>();
  for (const line of metrics.split('\n')) {
    const match = /^\w*request_seconds_bucket\{([^}]*)\} (\S+)/.exec(line);
    const limit = match && /le="([^"]+)"/.exec(match[1])?.[1];
    if (!match || !limit || limit === '+Inf') continue;
    const model = /model="([^"]*)"/.exec(match[1])?.[1] ?? '';
    found.set(model, [...(found.get(model) ?? []), { below: Number(limit), count: Number(match[2]) }]);
  }
  return found;
}

function Histogram({ model, buckets }: { model: string; buckets: Bucket[] }) {
  const bars = buckets.map((bucket, i) => ({ below: bucket.below, count: bucket.count - (i > 0 ? buckets[i - 1].count : 0) }));
  const most = Math.max(...bars.map((bar) => bar.count), 1);
  const width = 26;
  return (
    <figure class="chart">
      <figcaption>{model || 'all models'}: time of requests</figcaption>
      <div class="wide">
        <svg width={bars.length * width + 20} height={160} role="img" aria-label={bars.filter((bar) => bar.count > 0).map((bar) => `${bar.count} below ${milliseconds(1000 * bar.below)}`).join(', ') || 'no request yet'}>
          {bars.map((bar, i) => (
            <g key={bar.below}>
              <rect x={i * width} y={100 - (95 * bar.count) / most} width={width - 3} height={(95 * bar.count) / most} fill="var(--mark)"><title>{`${bar.count} below ${milliseconds(1000 * bar.below)}`}</title></rect>
              <text transform={`translate(${i * width + 10} 108) rotate(50)`} fill="var(--faint)">{milliseconds(1000 * bar.below)}</text>
            </g>
          ))}
        </svg>
      </div>
    </figure>
  );
}

const mean = (value: CountTime | undefined): string => (value && value.count > 0 ? milliseconds(value.ns / value.count / 1e6) : '–');

/** A model that is asked by hand, with a picture, a text or tensors. */
function Tried({ server }: { server: Server }) {
  const names = [...new Set(server.models.filter((entry) => entry.state === 'READY').map((entry) => entry.name))];
  const [wanted, want] = useState('');
  const name = names.includes(wanted) ? wanted : names[0];
  const [model, set] = useState<ModelInfo>();
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => {
    askThrough('/api/server', `${server.address ?? ''}/v2`, actionHeaders);
    if (name) loadModel(name).then((got) => { set(got); setProblem(undefined); }, setProblem);
  }, [name, server.address]);
  if (!name) return null;
  return (
    <section class="card try">
      <h2>Try it</h2>
      <div class="row"><label>Model <select value={name} onChange={(event) => want(event.currentTarget.value)}>{names.map((one) => <option key={one} value={one}>{one}</option>)}</select></label></div>
      {problem !== undefined && <p class="bad" role="alert">{message(problem)}</p>}
      {model?.name === name && <TryIt key={name} model={model} />}
    </section>
  );
}

export function ServePage() {
  const [server, set] = useState<Server>();
  const [rates, setRates] = useState(new Map<string, number>());
  const [problem, setProblem] = useState<unknown>();
  const before = useRef({ time: 0, counts: new Map<string, number>() });
  useEffect(() => {
    const look = (): void => {
      ask<Server>('/api/server').then((got) => {
        set(got);
        setProblem(undefined);
        if (got.address === null) return;
        const now = performance.now();
        const counts = new Map(got.stats.model_stats.map((one) => [`${one.name} ${one.version}`, one.inference_count]));
        const passed = (now - before.current.time) / 1000;
        if (before.current.time > 0) setRates(new Map([...counts].map(([key, count]) => [key, (count - (before.current.counts.get(key) ?? count)) / passed])));
        before.current = { time: now, counts };
      }, setProblem);
    };
    look();
    const timer = setInterval(look, 2000);
    return () => clearInterval(timer);
  }, []);
  if (problem !== undefined) return <p class="faint" role="alert">{message(problem)}</p>;
  if (!server) return <p class="faint">…</p>;
  if (server.address === null) return <div class="card empty"><strong>No server was named</strong><p>Start this page with the address of one to watch it:</p><pre>trainyard ui --server http://127.0.0.1:8000</pre></div>;
  return (
    <>
      <p>The server at <a href={server.address} target="_blank" rel="noopener noreferrer">{server.address}</a>.</p>
      <section class="card flush"><div class="wide" tabIndex={0} role="region" aria-label="Models">
        <table>
          <thead><tr><th scope="col">model</th><th scope="col">version</th><th scope="col">state</th><th scope="col" class="number">inferences</th><th scope="col" class="number">per s</th><th scope="col" class="number">batch</th><th scope="col" class="number">in the queue</th><th scope="col" class="number">computing</th><th scope="col" class="number">failed</th></tr></thead>
          <tbody>
            {server.models.map((entry) => {
              const stats = server.stats.model_stats.find((one) => one.name === entry.name && (entry.version === undefined || one.version === entry.version));
              return (
                <tr key={`${entry.name} ${entry.version}`}>
                  <th scope="row">{entry.name}</th><td>{entry.version ?? ''}</td><td title={entry.reason}>{entry.state}</td>
                  <td class="number">{short(stats?.inference_count ?? 0)}</td>
                  <td class="number">{short(Number((rates.get(`${entry.name} ${stats?.version}`) ?? 0).toFixed(1)))}</td>
                  <td class="number">{stats && stats.execution_count > 0 ? (stats.inference_count / stats.execution_count).toFixed(1) : '–'}</td>
                  <td class="number">{mean(stats?.inference_stats.queue)}</td>
                  <td class="number">{mean(stats?.inference_stats.compute_infer)}</td>
                  <td class="number">{short(stats?.inference_stats.fail?.count ?? 0)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div></section>
      <Tried server={server} />
      <div class="charts">{[...latencies(server.metrics)].map(([model, buckets]) => <Histogram key={model} model={model} buckets={buckets} />)}</div>
    </>
  );
}
