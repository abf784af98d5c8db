// What a model is doing, second by second, from its statistics.
import { useEffect, useState } from 'preact/hooks';
import { loadStats, ModelStats } from './serve_api';

interface Sample { perSecond: number; latency: number; batch: number }

const keep = 60;

// Differences between two looks, over all versions.
function between(before: ModelStats[], after: ModelStats[], seconds: number): Sample {
  const sum = (list: ModelStats[], get: (stats: ModelStats) => number): number => list.reduce((total, stats) => total + get(stats), 0);
  const change = (get: (stats: ModelStats) => number): number => sum(after, get) - sum(before, get);
  const requests = change((stats) => stats.inference_stats.success.count);
  const batches = change((stats) => stats.execution_count);
  return {
    perSecond: requests / seconds,
    latency: requests > 0 ? change((stats) => stats.inference_stats.success.ns) / requests / 1e6 : 0,
    batch: batches > 0 ? change((stats) => stats.inference_count) / batches : 0,
  };
}

function Chart({ title, unit, values, digits }: { title: string; unit: string; values: number[]; digits: number }) {
  const top = Math.max(...values, 1e-9);
  const path = values.map((value, i) => `${i === 0 ? 'M' : 'L'}${(i / (keep - 1)) * 100} ${40 - (value / top) * 38}`).join('');
  const last = values[values.length - 1] ?? 0;
  return (
    <div class="tile">
      <h3>{title}</h3>
      <div class="value">{last.toFixed(digits)} <span class="faint">{unit}</span></div>
      <svg viewBox="0 0 100 41" preserveAspectRatio="none" role="img" aria-label={`${title}, the last minute; highest ${top.toFixed(digits)} ${unit}`}>
        <path d={path} />
      </svg>
    </div>
  );
}

export function Live({ name }: { name: string }) {
  const [samples, setSamples] = useState<Sample[]>([]);
  useEffect(() => {
    let before: { stats: ModelStats[]; time: number } | undefined;
    const look = async (): Promise<void> => {
      try {
        const stats = await loadStats(name);
        const time = performance.now();
        if (before) {
          const sample = between(before.stats, stats, (time - before.time) / 1000);
          setSamples((old) => [...old, sample].slice(-keep));
        }
        before = { stats, time };
      } catch {
        before = undefined; // unloaded, or the server is gone; the next look may find it again
      }
    };
    void look();
    const timer = setInterval(() => void look(), 1000);
    return () => clearInterval(timer);
  }, [name]);
  return (
    <div class="tiles">
      <Chart title="Throughput" unit="requests/s" digits={1} values={samples.map((sample) => sample.perSecond)} />
      <Chart title="Latency in the server" unit="ms" digits={2} values={samples.map((sample) => sample.latency)} />
      <Chart title="Rows computed together" unit="" digits={2} values={samples.map((sample) => sample.batch)} />
    </div>
  );
}
