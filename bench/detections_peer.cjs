// Runs an exported detector in ONNX Runtime: node detections_peer.cjs MODEL.onnx SIZE IN.f32 ... ; prints one JSON line a picture.
const fs = require('fs');
const ort = require('onnxruntime-node');

async function main() {
  const [model, size, ...files] = process.argv.slice(2);
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  for (const file of files) {
    const bytes = fs.readFileSync(file);
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const image = new ort.Tensor('float32', values, [1, 3, Number(size), Number(size)]);
    const outputs = await session.run({ [session.inputNames[0]]: image });
    const list = (name) => Array.from(outputs[name].data, Number);
    console.log(JSON.stringify({ boxes: list('boxes'), labels: list('labels'), scores: list('scores') }));
  }
}

main();
