// The seventh screen: labs, their cells while they run, and their reports.
import { useEffect, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { tell } from './ui_api';
import { seconds } from './ui_text';

interface Cell { step: string; command: string; state: string; seconds: number | null; said: string }
interface LabRun { scale: string; state: string; problem: string; cells: Cell[] }
interface Lab { name: string; title: string; question: string; quick_time: string; full_time: string; reported: boolean; run: LabRun | null; said: string[] }

const isOver = (cell: Cell): boolean => cell.state === 'done' || cell.state === 'kept';

function RunLab({ lab }: { lab: Lab }) {
  const [asked, confirm] = useState(false);
  const [said, say] = useState('');
  const run = (): void => {
    confirm(false);
    tell(`/api/labs/${lab.name}/run`).then(() => say('started'), (problem: unknown) => say(message(problem)));
  };
  if (lab.run?.state === 'running') return null;
  if (asked) return <span class="push"><button class="main" onClick={run}>Run it ({lab.quick_time})</button> <button onClick={() => confirm(false)}>No</button></span>;
  return <span class="push"><button onClick={() => confirm(true)}>Run …</button> <span role="status" class="faint">{said}</span></span>;
}

/** The one that runs stays in sight. */
function Cells({ cells }: { cells: Cell[] }) {
  const running = cells.findIndex((cell) => !isOver(cell));
  const scroll = (row: HTMLTableRowElement | null): void => {
    const box = row?.closest('.cells');
    if (row && box) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  };
  return (
    <div class="wide cells" tabIndex={0} role="region" aria-label="Cells">
      <table>
        <thead><tr><th scope="col">state</th><th scope="col">cell</th><th scope="col" class="number">time</th></tr></thead>
        <tbody>
          {cells.map((cell, i) => (
            <tr key={i} ref={i === running ? scroll : undefined}>
              <td><span class={`pill ${cell.state}`}>{cell.state}</span></td>
              <th scope="row"><span class="faint">{cell.step}</span> <code>{cell.command}</code>{cell.said !== '' && <div class="faint small">{cell.said}</div>}</th>
              <td class="number">{seconds(cell.seconds ?? undefined)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** How far a lab is; its cells are open while it runs, or if one has failed. */
function Progress({ run }: { run: LabRun }) {
  const over = run.cells.filter(isOver).length;
  const took = run.cells.reduce((sum, cell) => sum + (cell.seconds ?? 0), 0);
  const running = run.state === 'running';
  return (
    <details class="progress" open={run.state !== 'done'}>
      <summary>
        <span class={`pill ${run.state}`}>{run.state}</span> {over} of {run.cells.length} cells, {run.scale}, <span class="number">{seconds(took)}</span>
        {running && <div class="meter" role="progressbar" aria-label="cells that are done" aria-valuemin={0} aria-valuemax={run.cells.length} aria-valuenow={over}><div style={{ width: `${(100 * over) / Math.max(1, run.cells.length)}%` }} /></div>}
      </summary>
      {run.problem !== '' && <p class="bad">{run.problem}</p>}
      <Cells cells={run.cells} />
    </details>
  );
}

function LabCard({ lab }: { lab: Lab }) {
  return (
    <li class={`card ${lab.run?.state === 'running' ? 'widest' : ''}`}>
      <h2>{lab.title}</h2>
      <p>{lab.question.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</p>
      <div class="row"><code class="small">{lab.name}</code><span class="faint small">{lab.quick_time} quick, {lab.full_time} full</span><RunLab lab={lab} />{lab.reported && <a class="button" href={`/api/labs/${lab.name}/report`} target="_blank" rel="noopener">Report</a>}</div>
      {lab.run && <Progress run={lab.run} />}
      {!lab.run && lab.said.length > 0 && <pre class="said" tabIndex={0}>{lab.said.join('\n')}</pre>}
    </li>
  );
}

// What runs comes first, then what has run.
const rank = (lab: Lab): number => (lab.run?.state === 'running' ? 0 : lab.run || lab.reported ? 1 : 2);

export function Labs() {
  const [labs, set] = useState<Lab[]>([]);
  const [filter, setFilter] = useState('');
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => {
    const look = (): void => { ask<{ labs: Lab[] }>('/api/labs').then((got) => { set(got.labs); setProblem(undefined); }, setProblem); };
    look();
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, []);
  const shown = labs.filter((lab) => `${lab.name} ${lab.title} ${lab.question}`.toLowerCase().includes(filter.toLowerCase())).sort((a, b) => rank(a) - rank(b));
  return (
    <>
      <div class="row">
        <label><span class="hidden">Filter</span> <input type="search" placeholder="Filter labs" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></label>
        <span class="faint" role="status">{shown.length} of {labs.length} labs; run here, they are the quick version</span>
      </div>
      {problem !== undefined && <p class="bad" role="alert">{message(problem)}</p>}
      <ul class="labs">{shown.map((lab) => <LabCard key={lab.name} lab={lab} />)}</ul>
    </>
  );
}
