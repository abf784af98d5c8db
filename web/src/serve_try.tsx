// A request by hand: a picture that is dropped, or a tensor that is typed.
import { useState } from 'preact/hooks';
import { exampleRequest, findsObjects, infer, InferAnswer, ModelInfo, OutputTensor, shownPath, takesPictures } from './serve_api';
import { Objects } from './serve_objects';

interface Outcome { answer?: InferAnswer; milliseconds?: number; problem?: string }

// "0.93:281:tabby"
const parseClass = (text: string): { score: number; label: string } => {
  const [score, index, ...label] = text.split(':');
  return { score: Number(score), label: label.length > 0 ? label.join(':') : `class ${index}` };
};

function Classes({ texts }: { texts: string[] }) {
  const rows = texts.map(parseClass);
  const low = Math.min(0, ...rows.map((row) => row.score));
  const high = Math.max(...rows.map((row) => row.score), low + 1e-9);
  return (
    <>
      {rows.map((row) => (
        <div class="label">
          <span>{row.label}</span>
          <div class="bar" style={{ width: `${((row.score - low) / (high - low)) * 100}%` }} />
          <span class="number">{row.score.toFixed(4)}</span>
        </div>
      ))}
    </>
  );
}

function Output({ tensor }: { tensor: OutputTensor }) {
  if (tensor.datatype === 'BYTES') return <Classes texts={tensor.data.map(String)} />;
  const shown = tensor.data.slice(0, 64).join(', ') + (tensor.data.length > 64 ? ', …' : '');
  return <pre>{`${tensor.name} ${tensor.datatype} [${tensor.shape.join(', ')}]\n${shown}`}</pre>;
}

function Result({ outcome, picture }: { outcome: Outcome; picture: string }) {
  if (outcome.problem) return <p class="bad">{outcome.problem}</p>;
  if (!outcome.answer) return null;
  const found = outcome.answer.outputs.some((tensor) => tensor.name === 'labels' && tensor.datatype === 'BYTES');
  return (
    <>
      <p>{(outcome.milliseconds ?? 0).toFixed(1)} ms from here and back, version {outcome.answer.model_version}</p>
      {found ? <Objects outputs={outcome.answer.outputs} picture={picture} /> : outcome.answer.outputs.map((tensor) => <Output tensor={tensor} />)}
    </>
  );
}

function Copyable({ title, text }: { title: string; text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <>
      <div class="row"><strong>{title}</strong> <button onClick={() => void copy()}>{copied ? 'copied' : 'copy'}</button></div>
      <pre>{text}</pre>
    </>
  );
}

function PictureField({ shown, onPicture }: { shown: string; onPicture: (file: File) => void }) {
  const [over, setOver] = useState(false);
  const take = (file: File | undefined): void => {
    if (file) onPicture(file);
  };
  return (
    <div
      class={over ? 'drop over' : 'drop'}
      onDragOver={(event) => { event.preventDefault(); setOver(true); }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => { event.preventDefault(); setOver(false); take(event.dataTransfer?.files[0]); }}
    >
      <label for="picture">Drop a picture here, or choose one: </label>
      <input id="picture" type="file" accept="image/jpeg,image/png" onChange={(event) => take(event.currentTarget.files?.[0])} />
      {shown && <img src={shown} alt="the picture that was sent" />}
    </div>
  );
}

const pythonLines = (model: ModelInfo, picture: boolean): string =>
  picture
    ? `import requests\nanswer = requests.post("${shownPath(model.name)}/infer", data=open("cat.jpg", "rb"))\nprint(answer.json()["outputs"][0]["data"])`
    : `import requests\nrequest = ${JSON.stringify(exampleRequest(model) ?? {})}\nprint(requests.post("${shownPath(model.name)}/infer", json=request).json())`;

const curlLine = (model: ModelInfo, picture: boolean): string => {
  const url = `${shownPath(model.name)}/infer`;
  return picture ? `curl --data-binary @cat.jpg ${url}` : `curl -d '${JSON.stringify(exampleRequest(model) ?? {})}' ${url}`;
};

export function TryIt({ model }: { model: ModelInfo }) {
  const picture = takesPictures(model);
  const example = exampleRequest(model);
  const [text, setText] = useState(example ? JSON.stringify(example) : '');
  const [outcome, setOutcome] = useState<Outcome>({});
  const [busy, setBusy] = useState(false);
  const [file, setFile] = useState<File>();
  const [shown, setShown] = useState('');
  const [least, setLeast] = useState('0.5');
  const objects = findsObjects(model);
  const send = async (body: BodyInit, query = ''): Promise<void> => {
    setBusy(true);
    try {
      setOutcome(await infer(model.name, body, query));
    } catch (problem) {
      setOutcome({ problem: problem instanceof Error ? problem.message : String(problem) });
    }
    setBusy(false);
  };
  const sendPicture = (chosen: File, score: string): void => {
    if (chosen !== file) setShown(URL.createObjectURL(chosen));
    setFile(chosen);
    void send(chosen, objects ? `?threshold=${encodeURIComponent(score)}` : '');
  };
  const changeLeast = (score: string): void => {
    setLeast(score);
    if (file) sendPicture(file, score);
  };
  return (
    <>
      {picture && <PictureField shown={objects ? '' : shown} onPicture={(chosen) => sendPicture(chosen, least)} />}
      {objects && (
        <div class="row">
          <label for="least">Least score of a box</label>
          <input id="least" type="number" min="0" max="1" step="0.05" value={least} onChange={(event) => changeLeast(event.currentTarget.value)} />
        </div>
      )}
      {example && (
        <>
          <div class="row"><label for="tensor">{picture ? 'Or a request as JSON' : 'A request as JSON'}</label></div>
          <textarea id="tensor" rows={5} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <div class="row"><button class="main" disabled={busy} onClick={() => void send(text)}>Send</button></div>
        </>
      )}
      <div role="status" aria-live="polite">{busy ? <p>…</p> : <Result outcome={outcome} picture={shown} />}</div>
      <Copyable title="curl" text={curlLine(model, picture)} />
      <Copyable title="Python" text={pythonLines(model, picture)} />
    </>
  );
}
