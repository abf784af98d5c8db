// The page of the inference server: models, a request by hand, what is going on; and its description at /docs.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { HttpError, message } from './ask';
import { Docs } from './serve_docs';
import { Live } from './serve_live';
import { TryIt } from './serve_try';
import { IndexEntry, loadIndex, loadModel, ModelInfo } from './serve_api';
import { TokenForm } from './token_form';

function Models({ index, chosen, choose }: { index: IndexEntry[]; chosen: string; choose: (name: string) => void }) {
  return (
    <div class="wide">
      <table>
        <thead><tr><th>model</th><th>version</th><th>state</th></tr></thead>
        <tbody>
          {index.map((entry) => (
            <tr>
              <td>
                {entry.state === 'READY' ? (
                  <button aria-pressed={entry.name === chosen} class={entry.name === chosen ? 'main' : ''} onClick={() => choose(entry.name)}>{entry.name}</button>
                ) : entry.name}
              </td>
              <td>{entry.version}</td>
              <td>{entry.state} {entry.reason && <span class="bad">{entry.reason}</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Tensors({ model }: { model: ModelInfo }) {
  const text = (tensors: ModelInfo['inputs']): string => tensors.map((tensor) => `${tensor.name} ${tensor.datatype} [${tensor.shape.join(', ')}]`).join('; ');
  return <p class="faint">takes {text(model.inputs)}<br />gives {text(model.outputs)}</p>;
}

function Home() {
  const [index, setIndex] = useState<IndexEntry[]>([]);
  const [chosen, choose] = useState('');
  const [model, setModel] = useState<ModelInfo>();
  const [problem, setProblem] = useState<unknown>();
  const refresh = (): void => {
    loadIndex().then((entries) => {
      setIndex(entries);
      setProblem(undefined);
      choose((old) => (old || entries.find((entry) => entry.state === 'READY')?.name) ?? '');
    }, setProblem);
  };
  useEffect(refresh, []);
  useEffect(() => {
    setModel(undefined);
    if (chosen) loadModel(chosen).then(setModel, setProblem);
  }, [chosen]);
  return (
    <>
      {problem instanceof HttpError && problem.status === 401 ? <TokenForm onDone={refresh} /> : problem !== undefined && <p class="bad" role="alert">{message(problem)}</p>}
      <h2>Models</h2>
      <Models index={index} chosen={chosen} choose={choose} />
      {model && (
        <>
          <Tensors model={model} />
          <h2>Try {model.name}</h2>
          <TryIt key={model.name} model={model} />
          <h2>Now</h2>
          <Live key={model.name} name={model.name} />
        </>
      )}
    </>
  );
}

const isDocs = location.pathname.startsWith('/docs');
render(
  <main>
    <header>
      <h1>{isDocs ? 'The calls of this server' : 'Inference server'}</h1>
      <nav>{isDocs ? <a href="/">models</a> : <><a href="/docs">calls</a> · <a href="/metrics">metrics</a></>}</nav>
    </header>
    {isDocs ? <Docs /> : <Home />}
  </main>,
  document.body,
);
