// Runs ONNX Runtime on one array and writes its first output, as raw floats:
//   node onnxruntime_outputs.cjs MODEL.onnx INPUT.f32 N,C,H,W OUTPUT.f32
const fs = require('fs');
const ort = require('onnxruntime-node');

const [model, input, shape, output] = process.argv.slice(2);

async function main() {
  const session = await ort.InferenceSession.create(model, { logSeverityLevel: 3 });
  const bytes = fs.readFileSync(input);
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const tensor = new ort.Tensor('float32', values, shape.split(',').map(Number));
  const found = await session.run({ [session.inputNames[0]]: tensor });
  const data = found[session.outputNames[0]].data;
  fs.writeFileSync(output, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
}

main();
