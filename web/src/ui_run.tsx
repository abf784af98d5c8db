// The third screen: all there is to know of one run.
import { useEffect, useState } from 'preact/hooks';
import { message, send } from './ask';
import { Details, loadDetails, Notes, Row, tell, textOf, Value } from './ui_api';
import { ConfusionPart } from './ui_confusion';
import { SystemCharts } from './ui_curves';
import { offBy } from './ui_columns';
import { bytes, dollars, milliseconds, seconds } from './ui_text';
import { TimelinePart } from './ui_timeline';

function Facts({ title, facts }: { title: string; facts: Record<string, Value> }) {
  if (Object.keys(facts).length === 0) return null;
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

const isText = (name: string): boolean => /^[^/]+\.(txt|log|yaml|json|jsonl|csv)$/.test(name);
const isPicture = (name: string): boolean => /^[^/]+\.(png|jpg)$/.test(name);

/** The end of a text, or a picture, of the run's folder. */
function FileView({ id, name }: { id: string; name: string }) {
  const [text, setText] = useState<string>();
  const [picture, setPicture] = useState<string>();
  useEffect(() => {
    let address = '';
    void send(`/api/runs/${id}/files/${encodeURIComponent(name)}`).then(async (answer) => {
      if (!isPicture(name)) return setText(await answer.text());
      address = URL.createObjectURL(await answer.blob());
      setPicture(address);
    }).catch((problem: unknown) => setText(message(problem)));
    return () => URL.revokeObjectURL(address);
  }, [id, name]);
  if (picture) return <img src={picture} alt={name} class="picture" />;
  return <pre class="text" tabIndex={0}>{text ?? '…'}</pre>;
}

function Files({ id, files }: { id: string; files: Details['files'] }) {
  const [open, set] = useState<string>();
  const report = files.some((file) => file.name === 'report.html');
  return (
    <section>
      <h2>Files</h2>
      {report && <p><a href={`/api/runs/${id}/files/report.html`} target="_blank" rel="noopener">The report of this run</a></p>}
      <div class="wide">
        <table>
          <thead><tr><th scope="col">file</th><th scope="col" class="number">size</th><th scope="col">written</th></tr></thead>
          <tbody>
            {files.map((file) => (
              <tr key={file.name}>
                <th scope="row">{isText(file.name) || isPicture(file.name) ? <button class="link" aria-expanded={open === file.name} onClick={() => set(open === file.name ? undefined : file.name)}>{file.name}</button> : file.name}</th>
                <td class="number">{bytes(file.bytes)}</td>
                <td>{new Date(1000 * file.written).toLocaleString()}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {open && <FileView key={open} id={id} name={open} />}
    </section>
  );
}

function NotesForm({ id, notes }: { id: string; notes: Notes }) {
  const [tags, setTags] = useState(notes.tags.join(', '));
  const [text, setText] = useState(notes.text);
  const [said, say] = useState('');
  const save = (event: Event): void => {
    event.preventDefault();
    const list = tags.split(/[\s,]+/).filter((tag) => tag !== '');
    tell(`/api/runs/${id}/notes`, { tags: list, text }).then(() => say('Saved'), (problem: unknown) => say(message(problem)));
  };
  return (
    <form class="notes" onSubmit={save}>
      <label>Tags <input value={tags} placeholder="baseline, best" onInput={(event) => setTags(event.currentTarget.value)} /></label>
      <label>Note <textarea rows={2} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <div><button>Save</button> <span role="status" class="faint">{said}</span></div>
    </form>
  );
}

/** Stop or resume, once it was asked. */
function Actions({ id, state }: { id: string; state: string }) {
  const [asked, ask] = useState(false);
  const [said, say] = useState('');
  const running = state === 'running';
  const word = running ? 'Stop' : 'Resume';
  const act = (): void => {
    ask(false);
    tell(`/api/runs/${id}/${running ? 'stop' : 'resume'}`).then(() => say(running ? 'It ends its step, saves and stops.' : 'It is being started.'), (problem: unknown) => say(message(problem)));
  };
  if (state === 'finished') return null;
  return (
    <div class="row">
      {asked
        ? <><span>{running ? 'Stop this run after its step? It can be resumed.' : 'Resume this run on this machine?'}</span><button class="main" onClick={act}>{word}</button><button onClick={() => ask(false)}>No</button></>
        : <button onClick={() => ask(true)}>{word} …</button>}
      <span role="status" class="faint">{said}</span>
    </div>
  );
}

/** What a step takes, term by term. */
function StepTable({ row }: { row: Row }) {
  const { measured, predicted } = row;
  if (measured.step_ms === undefined) return null;
  const terms: [string, keyof typeof measured][] = [['compute', 'compute_ms'], ['waiting for input', 'input_ms'], ['exposed communication', 'exposed_ms'], ['step', 'step_ms']];
  const off = offBy(row);
  return (
    <section>
      <h2>A step</h2>
      <div class="wide">
        <table>
          <thead><tr><th scope="col">term</th><th scope="col" class="number">measured</th><th scope="col" class="number">predicted</th></tr></thead>
          <tbody>
            {terms.map(([name, key]) => <tr key={name}><th scope="row">{name}</th><td class="number">{milliseconds(measured[key])}</td><td class="number">{predicted ? milliseconds(predicted[key]) : ''}</td></tr>)}
            {measured.memory_bytes !== undefined && <tr><th scope="row">memory</th><td class="number">{bytes(measured.memory_bytes)}</td><td class="number">{predicted?.memory_bytes ? bytes(predicted.memory_bytes) : ''}</td></tr>}
          </tbody>
        </table>
      </div>
      {off !== undefined && <p class={row.wrong_term ? 'bad' : 'faint'}>The step takes {(100 * Math.abs(off)).toFixed(0)} % {off > 0 ? 'longer' : 'less'} than predicted{row.wrong_term && `; most of it is ${row.wrong_term}`}.</p>}
      {!predicted && <p class="faint">Not predicted: <code>trainyard calibrate</code> measures this machine once; networks of files are not predicted here.</p>}
      {row.seconds_left !== null && <p>{seconds(row.seconds_left)} left{row.cost_left_usd !== null && `, ${dollars(row.cost_left_usd)}`}.</p>}
    </section>
  );
}

function Repeat({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  if (command === '') return null;
  return (
    <section>
      <h2>To repeat it</h2>
      <pre>{command}</pre>
      <p><button onClick={() => void navigator.clipboard.writeText(command).then(() => setCopied(true))}>{copied ? 'Copied' : 'Copy'}</button></p>
    </section>
  );
}

export function RunPage({ id, row }: { id: string; row?: Row }) {
  const [details, set] = useState<Details>();
  const [problem, setProblem] = useState<unknown>();
  const size = row?.size ?? 0;
  useEffect(() => {
    loadDetails(id).then((got) => { set(got); setProblem(undefined); }, setProblem);
  }, [id, size, row?.state]);
  if (problem !== undefined) return <p class="bad" role="alert">{message(problem)}</p>;
  if (!details) return <p class="faint">…</p>;
  return (
    <>
      <p><a href="#runs">all runs</a></p>
      <h1 class="name">{details.name} <span class={`state ${details.state}`}>{details.state}</span></h1>
      <p class="faint">{details.directory}</p>
      {details.problem && <p class="bad">{details.problem}</p>}
      {details.source === 'trainyard' && <Actions id={id} state={details.state} />}
      <div class="columns">
        <div>
          <Repeat command={details.repeat} />
          <h2>Notes</h2>
          <NotesForm key={id} id={id} notes={details.notes} />
        </div>
        {row && <StepTable row={row} />}
      </div>
      <ConfusionPart id={id} size={size} />
      <TimelinePart id={id} />
      {row && details.files.some((file) => file.name === 'utilization.jsonl') && <SystemCharts rows={[row]} wanted />}
      <div class="columns">
        <Facts title="Settings" facts={details.settings} />
        <div>
          {details.machine && <Facts title="Machine" facts={details.machine} />}
          <Files id={id} files={details.files} />
        </div>
      </div>
    </>
  );
}
