// The seventh screen: labs, what they say while they run, and their reports.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { tell } from './ui_api';

interface Lab { name: string; title: string; question: string; quick_time: string; full_time: string; reported: boolean; said: string[] }

function RunLab({ lab }: { lab: Lab }) {
  const [asked, confirm] = useState(false);
  const [said, say] = useState('');
  const run = (): void => {
    confirm(false);
    tell(`/api/labs/${lab.name}/run`).then(() => say('started'), (problem: unknown) => say(message(problem)));
  };
  if (asked) return <span class="push"><button class="main" onClick={run}>Run it ({lab.quick_time})</button> <button onClick={() => confirm(false)}>No</button></span>;
  return <span class="push"><button onClick={() => confirm(true)}>Run …</button> <span role="status" class="faint">{said}</span></span>;
}

/** Its cells as they run: the newest line stays in sight. */
function Said({ lines }: { lines: string[] }) {
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => { if (box.current) box.current.scrollTop = box.current.scrollHeight; }, [lines.join()]);
  return <pre class="said" tabIndex={0} ref={box}>{lines.join('\n')}</pre>;
}

export function Labs() {
  const [labs, set] = useState<Lab[]>([]);
  const [filter, setFilter] = useState('');
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => {
    const look = (): void => { ask<{ labs: Lab[] }>('/api/labs').then((got) => { set(got.labs); setProblem(undefined); }, setProblem); };
    look();
    const timer = setInterval(look, 2000);
    return () => clearInterval(timer);
  }, []);
  const shown = labs.filter((lab) => `${lab.name} ${lab.title} ${lab.question}`.toLowerCase().includes(filter.toLowerCase()));
  return (
    <>
      <div class="row">
        <label><span class="hidden">Filter</span> <input type="search" placeholder="Filter labs" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></label>
        <span class="faint" role="status">{shown.length} of {labs.length} labs; run here, they are the quick version</span>
      </div>
      {problem !== undefined && <p class="bad" role="alert">{message(problem)}</p>}
      <ul class="labs">
        {shown.map((lab) => (
          <li key={lab.name} class="card">
            <h2>{lab.title}</h2>
            <p>{lab.question.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</p>
            <div class="row"><code class="small">{lab.name}</code><span class="faint small">{lab.quick_time} quick, {lab.full_time} full</span><RunLab lab={lab} />{lab.reported && <a class="button" href={`/api/labs/${lab.name}/report`} target="_blank" rel="noopener">Report</a>}</div>
            {lab.said.length > 0 && <Said lines={lab.said} />}
          </li>
        ))}
      </ul>
    </>
  );
}
