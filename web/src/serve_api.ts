// What the page asks the server.
import { ask } from './ask';

export interface TensorInfo { name: string; datatype: string; shape: number[] }
export interface ModelInfo { name: string; versions?: string[]; platform: string; inputs: TensorInfo[]; outputs: TensorInfo[] }
export interface IndexEntry { name: string; version?: string; state: string; reason: string }
export interface OutputTensor { name: string; datatype: string; shape: number[]; data: (number | string | boolean | null)[] }
export interface InferAnswer { model_name: string; model_version?: string; outputs: OutputTensor[] }
interface CountTime { count: number; ns: number }
export interface ModelStats {
  name: string;
  version: string;
  inference_count: number;
  execution_count: number;
  inference_stats: Record<'success' | 'fail' | 'queue' | 'compute_infer', CountTime>;
}

// Where models are asked: this server itself, or one behind it that wants these headers.
let place = { base: '/v2', shown: `${location.origin}/v2`, headers: (): Record<string, string> => ({}) };
export const askThrough = (base: string, shown: string, headers: () => Record<string, string>): void => { place = { base, shown, headers }; };
export const shownPath = (name: string): string => `${place.shown}/models/${encodeURIComponent(name)}`;
const modelPath = (name: string): string => `${place.base}/models/${encodeURIComponent(name)}`;

export const loadIndex = (): Promise<IndexEntry[]> => ask('/v2/repository/index', { method: 'POST', body: '{}' });
export const loadModel = (name: string): Promise<ModelInfo> => ask(modelPath(name));
export const loadStats = async (name: string): Promise<ModelStats[]> =>
  (await ask<{ model_stats: ModelStats[] }>(`${modelPath(name)}/stats`)).model_stats;
export const loadDescription = (): Promise<Description> => ask('/openapi.json');

export async function infer(name: string, body: BodyInit, query = ''): Promise<{ answer: InferAnswer; milliseconds: number }> {
  const begin = performance.now();
  const answer = await ask<InferAnswer>(`${modelPath(name)}/infer${query}`, { method: 'POST', headers: place.headers(), body });
  return { answer, milliseconds: performance.now() - begin };
}

export const takesPictures = (model: ModelInfo): boolean =>
  model.inputs.length === 1 && model.inputs[0].datatype === 'FP32' && model.inputs[0].shape.length === 4 && [1, 3].includes(model.inputs[0].shape[1]);

export const findsObjects = (model: ModelInfo): boolean =>
  takesPictures(model) && model.outputs.map((output) => output.name).join() === 'boxes,labels,scores';

// A request that works: zeros of the model's own shapes, one row.
export function exampleRequest(model: ModelInfo): object | undefined {
  const inputs = model.inputs.map((input) => {
    const shape = input.shape.map((size) => Math.max(size, 1));
    const count = shape.reduce((product, size) => product * size, 1);
    return { name: input.name, datatype: input.datatype, shape, data: count <= 4096 ? new Array<number>(count).fill(0) : undefined };
  });
  return inputs.some((input) => input.data === undefined) ? undefined : { inputs };
}

export interface Operation { summary: string; responses: Record<string, { description: string }>; requestBody?: { description?: string } }
export interface Description { info: { title: string; version: string; description: string }; paths: Record<string, Record<string, Operation>> }
