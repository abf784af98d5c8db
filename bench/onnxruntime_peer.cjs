// Times ONNX Runtime on one model file and prints one JSON line:
//   node onnxruntime_peer.cjs MODEL.onnx THREADS WARMUP RUNS
const ort = require('onnxruntime-node');
const { version } = require('onnxruntime-node/package.json');

const [model, threads, warmup, runs] = [process.argv[2], ...process.argv.slice(3).map(Number)];

// The same kind of numbers that `trainyard bench` uses: uniform in [-1, 1); whole numbers are zero.
// An open dimension, which has a name, is the batch: one image.
function randomInput(meta) {
  const shape = meta.shape.map((dim) => (typeof dim === 'number' ? dim : 1));
  const size = shape.reduce((product, dim) => product * dim, 1);
  if (meta.type === 'int64') return new ort.Tensor('int64', new BigInt64Array(size), shape);
  let state = 1;
  const values = Float32Array.from({ length: size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  return new ort.Tensor('float32', values, shape);
}

async function main() {
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3,
  });
  const feeds = {};
  for (const meta of session.inputMetadata) feeds[meta.name] = randomInput(meta);
  // Results go into the same memory in every run, as ours do: allocating them is the binding's work.
  const results = await session.run(feeds);
  const times = [];
  for (let i = 0; i < warmup + runs; i++) {
    const begin = performance.now();
    await session.run(feeds, results);
    if (i >= warmup) times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  console.log(JSON.stringify({
    version, median_ms: at(0.5), p10_ms: at(0.1), p90_ms: at(0.9), p99_ms: at(0.99), min_ms: times[0],
    peak_memory_bytes: process.resourceUsage().maxRSS * 1024,
  }));
}

main();
