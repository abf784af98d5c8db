// What one writes with Fastify and ONNX Runtime to serve a network: node fastify_peer.cjs MODEL.onnx PORT THREADS
//
// POST /infer takes the input's float32 numbers as bytes and answers with JSON.
const fastify = require('fastify')({ bodyLimit: 64 << 20 });
const ort = require('onnxruntime-node');

const [model, port, threads] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];

async function main() {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3 });
  const { name, shape } = session.inputMetadata[0];
  fastify.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (request, body, done) => done(null, body));
  fastify.post('/infer', async (request) => {
    const body = request.body;
    const numbers = new Float32Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength));
    const outputs = await session.run({ [name]: new ort.Tensor('float32', numbers, shape) });
    return { outputs: Array.from(outputs[session.outputNames[0]].data) };
  });
  await fastify.listen({ host: '127.0.0.1', port });
}

main();
