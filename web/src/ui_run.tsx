// The third screen: all there is to know of one run.
import { useEffect, useState } from 'preact/hooks';
import { message } from './ask';
import { Details, loadDetails, textOf, Value } from './ui_api';
import { bytes } from './ui_text';

function Facts({ title, facts }: { title: string; facts: Record<string, Value> }) {
  return (
    <section>
      <h2>{title}</h2>
      <div class="wide">
        <table class="facts">
          <tbody>{Object.entries(facts).map(([name, value]) => <tr key={name}><th scope="row">{name}</th><td>{textOf(value)}</td></tr>)}</tbody>
        </table>
      </div>
    </section>
  );
}

function Files({ files }: { files: Details['files'] }) {
  return (
    <section>
      <h2>Files</h2>
      <div class="wide">
        <table>
          <thead><tr><th scope="col">file</th><th scope="col" class="number">size</th><th scope="col">written</th></tr></thead>
          <tbody>
            {files.map((file) => (
              <tr key={file.name}><th scope="row">{file.name}</th><td class="number">{bytes(file.bytes)}</td><td>{new Date(1000 * file.written).toLocaleString()}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function RunPage({ id, size }: { id: string; size: number }) {
  const [details, set] = useState<Details>();
  const [problem, setProblem] = useState<unknown>();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    loadDetails(id).then((got) => { set(got); setProblem(undefined); }, setProblem);
  }, [id, size]);
  if (problem !== undefined) return <p class="bad" role="alert">{message(problem)}</p>;
  if (!details) return <p class="faint">…</p>;
  return (
    <>
      <p><a href="#runs">all runs</a></p>
      <h1 class="name">{details.name} <span class={`state ${details.state}`}>{details.state}</span></h1>
      <p class="faint">{details.directory}</p>
      {details.problem && <p class="bad">{details.problem}</p>}
      <h2>To repeat it</h2>
      <pre>{details.repeat}</pre>
      <p><button onClick={() => void navigator.clipboard.writeText(details.repeat).then(() => setCopied(true))}>{copied ? 'Copied' : 'Copy'}</button></p>
      <div class="columns">
        <Facts title="Settings" facts={details.settings} />
        <div>
          {details.machine && <Facts title="Machine" facts={details.machine} />}
          <Files files={details.files} />
        </div>
      </div>
    </>
  );
}
