// The third screen: all there is to know of one run.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ComponentChildren } from 'preact';
import { ask, message, send } from './ask';
import { Details, loadDetails, Notes, Row, tell, textOf, Value } from './ui_api';
import { Chart } from './ui_chart';
import { Colored } from './ui_chosen';
import { ConfusionPart } from './ui_confusion';
import { offBy } from './ui_columns';
import { HistogramPart } from './ui_histograms';
import { linesOf, plain, useCurves } from './ui_lines';
import { metricNames } from './ui_series';
import { SystemCharts } from './ui_system';
import { bytes, dollars, milliseconds, percent, seconds, short } from './ui_text';
import { TimelinePart } from './ui_timeline';

function Facts({ title, facts }: { title: string; facts: Record<string, Value> }) {
  if (Object.keys(facts).length === 0) return null;
  return (
    <section class="card">
      <h2>{title}</h2>
      <div class="wide tall" tabIndex={0} role="region" aria-label={title}>
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
    <section class="card">
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
  const [asked, confirm] = useState(false);
  const [said, say] = useState('');
  const running = state === 'running';
  const word = running ? 'Stop' : 'Resume';
  const act = (): void => {
    confirm(false);
    tell(`/api/runs/${id}/${running ? 'stop' : 'resume'}`).then(() => say(running ? 'It ends its step, saves and stops.' : 'It is being started.'), (problem: unknown) => say(message(problem)));
  };
  if (state === 'finished') return null;
  return (
    <>
      {asked
        ? <><span>{running ? 'Stop this run after its step? It can be resumed.' : 'Resume this run on this machine?'}</span><button class="main" onClick={act}>{word}</button><button onClick={() => confirm(false)}>No</button></>
        : <button onClick={() => confirm(true)}>{word} …</button>}
      <span role="status" class="faint">{said}</span>
    </>
  );
}

function Tile({ name, value, note, children }: { name: string; value: string; note?: string; children?: ComponentChildren }) {
  if (value === '') return null;
  return <div class="tile"><dt>{name}</dt><dd>{value}</dd>{note && <dd class="note">{note}</dd>}{children}</div>;
}

/** What one wants to know first. */
function Tiles({ row }: { row: Row }) {
  const epochs = typeof row.epochs === 'number' ? row.epochs : 0;
  const done = epochs > 0 && row.last.epoch !== undefined ? Math.min(1, row.last.epoch / epochs) : undefined;
  const off = offBy(row);
  return (
    <dl class="tiles">
      <Tile name="epoch" value={row.last.epoch === undefined ? '' : short(row.last.epoch)} note={epochs > 0 ? `of ${short(epochs)}${row.last.step === undefined ? '' : `, step ${short(row.last.step)}`}` : undefined}>
        {done !== undefined && <dd class="meter"><div style={{ width: `${100 * done}%` }} /></dd>}
      </Tile>
      <Tile name="loss" value={((loss) => (loss === undefined ? '' : short(loss)))(row.last.train_loss ?? row.last.loss)} note={row.last.test_loss === undefined ? undefined : `test ${short(row.last.test_loss)}`} />
      <Tile name="best top-1" value={percent(row.best_top1)} note={row.last.test_top1 === undefined ? undefined : `last ${percent(row.last.test_top1)}`} />
      <Tile name="return" value={row.last.return === undefined ? '' : short(row.last.return)} />
      <Tile name="step" value={milliseconds(row.measured.step_ms)} note={row.predicted?.step_ms ? `predicted ${milliseconds(row.predicted.step_ms)}${off === undefined ? '' : `, ${off > 0 ? '+' : ''}${(100 * off).toFixed(0)} %`}` : 'not predicted'} />
      <Tile name="speed" value={row.last.images_per_s === undefined ? '' : `${short(Math.round(row.last.images_per_s))}/s`} note="images or sequences" />
      <Tile name="memory" value={row.measured.memory_bytes === undefined ? '' : bytes(row.measured.memory_bytes)} note={row.predicted?.memory_bytes ? `predicted ${bytes(row.predicted.memory_bytes)}` : undefined} />
      <Tile name="time" value={seconds(row.last.seconds)} note={row.seconds_left === null ? undefined : `${seconds(row.seconds_left)} left`} />
      <Tile name="cost" value={dollars(row.cost_usd)} note={row.cost_left_usd === null ? undefined : `${dollars(row.cost_left_usd)} left`} />
    </dl>
  );
}

const termColors: [string, 'compute_ms' | 'input_ms' | 'exposed_ms', string][] = [['compute', 'compute_ms', '#2f6fde'], ['waiting for input', 'input_ms', '#e0742b'], ['exposed communication', 'exposed_ms', '#8a5fd0']];

/** What a step takes, term by term. */
function StepPart({ row }: { row: Row }) {
  const { measured, predicted } = row;
  if (measured.step_ms === undefined) return null;
  const off = offBy(row);
  const longest = Math.max(measured.step_ms, predicted?.step_ms ?? 0);
  const bars: [string, typeof measured][] = [['measured', measured], ...(predicted ? [['predicted', predicted] as [string, typeof measured]] : [])];
  return (
    <section class="card">
      <h2>A step</h2>
      <div class="steps" aria-hidden="true" data-nosave>
        {bars.map(([name, terms]) => (
          <div key={name}>
            <div class="small faint">{name} {milliseconds(terms.step_ms)}</div>
            <div class="stack">{termColors.map(([term, key, color]) => <div key={term} title={`${term} ${milliseconds(terms[key])}`} style={{ background: color, width: `${(100 * (terms[key] ?? 0)) / longest}%` }} />)}</div>
          </div>
        ))}
      </div>
      <div class="wide" style={{ marginTop: '0.6rem' }}>
        <table>
          <thead><tr><th scope="col">term</th><th scope="col" class="number">measured</th><th scope="col" class="number">predicted</th></tr></thead>
          <tbody>
            {termColors.map(([name, key, color]) => <tr key={name}><th scope="row"><span class="dot" style={{ background: color }} /> {name}</th><td class="number">{milliseconds(measured[key])}</td><td class="number">{predicted ? milliseconds(predicted[key]) : '–'}</td></tr>)}
            <tr><th scope="row">step</th><td class="number">{milliseconds(measured.step_ms)}</td><td class="number">{predicted ? milliseconds(predicted.step_ms) : '–'}</td></tr>
            {measured.memory_bytes !== undefined && <tr><th scope="row">memory</th><td class="number">{bytes(measured.memory_bytes)}</td><td class="number">{predicted?.memory_bytes ? bytes(predicted.memory_bytes) : '–'}</td></tr>}
          </tbody>
        </table>
      </div>
      {off !== undefined && <p class={row.wrong_term ? '' : 'faint'}>{row.wrong_term && <span class="flag">{row.wrong_term}</span>} The step takes {(100 * Math.abs(off)).toFixed(0)} % {off > 0 ? 'longer' : 'less'} than predicted{row.wrong_term && `; most of it is ${row.wrong_term}`}.</p>}
      {!predicted && <p class="faint">Not predicted: <code>trainyard calibrate</code> measures this machine once; networks of files are not predicted here.</p>}
    </section>
  );
}

function Repeat({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  if (command === '') return null;
  return (
    <section class="card">
      <h2>To repeat it</h2>
      <pre>{command}</pre>
      <p><button onClick={() => void navigator.clipboard.writeText(command).then(() => setCopied(true))}>{copied ? 'Copied' : 'Copy'}</button></p>
    </section>
  );
}

const firstMetrics = ['loss', 'test_top1', 'return', 'test_loss', 'learning_rate', 'gradient_norm', 'images_per_s'];
const mostCharts = 6;

/** Its own curves, before they are compared with others. */
function OwnCurves({ row }: { row: Row }) {
  const runs: Colored[] = useMemo(() => [{ row, color: 0 }], [row]);
  const curves = useCurves(useMemo(() => [row], [row]));
  const charts = useMemo(() => {
    const names = metricNames([...curves.values()]);
    const known = firstMetrics.filter((name) => names.includes(name));
    return (known.length > 0 ? known : names).slice(0, mostCharts).map((name) => ({ name, lines: linesOf(runs, curves, name, { ...plain, weight: name === 'loss' ? 0.8 : 0, raw: true }, null) })).filter(({ lines }) => lines.some((line) => line.line.x.length > 1));
  }, [runs, curves]);
  if (charts.length === 0) return null;
  return (
    <div class="charts three">
      {charts.map(({ name, lines }) => <Chart key={name} lines={lines} look={{ title: name, xTitle: 'step', logX: false, logY: false, isTime: false, sync: 'run', percent: /top\d/.test(name), height: 190 }} />)}
    </div>
  );
}

interface Sample { step: number; text: string }

/** What a network that writes texts wrote after its epochs. */
function SamplePart({ id, size }: { id: string; size: number }) {
  const [samples, set] = useState<Sample[]>([]);
  useEffect(() => {
    ask<{ samples: Sample[] }>(`/api/runs/${id}/samples`).then((got) => set(got.samples), () => set([]));
  }, [id, size]);
  if (samples.length === 0) return null;
  return (
    <section class="card">
      <h2>Samples</h2>
      {samples.map((sample, i) => <details key={sample.step} open={i === samples.length - 1}><summary>after step {short(sample.step)}</summary><pre>{sample.text}</pre></details>)}
    </section>
  );
}

export function RunPage({ id, row }: { id: string; row?: Row; price: number | null }) {
  const [details, set] = useState<Details>();
  const [problem, setProblem] = useState<unknown>();
  const size = row?.size ?? 0;
  useEffect(() => {
    loadDetails(id).then((got) => { set(got); setProblem(undefined); }, setProblem);
  }, [id, size, row?.state]);
  const alone = useMemo(() => (row ? [{ row, color: 0 }] : []), [row]);
  if (problem !== undefined) return <p class="bad" role="alert">{message(problem)}</p>;
  if (!details) return <p class="faint">…</p>;
  return (
    <>
      <div class="title">
        <a href="#runs">Runs</a><span class="faint">/</span>
        <h1>{details.name}</h1>
        <span class={`pill ${details.state}`}>{details.state}</span>
        {details.notes.tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}
        {details.source === 'trainyard' && <Actions id={id} state={details.state} />}
      </div>
      {details.problem && <p class="bad">{details.problem}</p>}
      {row && <Tiles row={row} />}
      {row && <OwnCurves row={row} />}
      <div class="columns">
        {row && <StepPart row={row} />}
        <div>
          <Repeat command={details.repeat} />
          <section class="card">
            <h2>Notes</h2>
            <NotesForm key={id} id={id} notes={details.notes} />
          </section>
        </div>
      </div>
      <ConfusionPart id={id} size={size} />
      <SamplePart id={id} size={size} />
      <HistogramPart id={id} size={size} />
      <TimelinePart id={id} />
      {row && details.files.some((file) => file.name === 'utilization.jsonl' && file.bytes > 0) && <SystemCharts runs={alone} wanted />}
      <div class="columns">
        <Facts title="Settings" facts={details.settings} />
        <div>
          {details.machine && <Facts title="Environment" facts={details.machine} />}
          <Files id={id} files={details.files} />
        </div>
      </div>
      <p class="faint small">{details.directory}</p>
    </>
  );
}
