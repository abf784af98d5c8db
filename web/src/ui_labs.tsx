// The seventh screen: labs, what they say while they run, and their reports.
import { useEffect, useState } from 'preact/hooks';
import { ask, message } from './ask';
import { tell } from './ui_api';

interface Lab { name: string; title: string; question: string; quick_time: string; full_time: string; reported: boolean; said: string }

function RunLab({ lab }: { lab: Lab }) {
  const [asked, confirm] = useState(false);
  const [said, say] = useState('');
  const run = (): void => {
    confirm(false);
    tell(`/api/labs/${lab.name}/run`).then(() => say('started'), (problem: unknown) => say(message(problem)));
  };
  if (asked) return <span><button class="main" onClick={run}>Run it ({lab.quick_time})</button> <button onClick={() => confirm(false)}>No</button></span>;
  return <span><button onClick={() => confirm(true)}>Run …</button> <span role="status" class="faint">{said}</span></span>;
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
        <label>Filter <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></label>
        <span class="faint" role="status">{shown.length} of {labs.length} labs; run here, they are the quick version</span>
      </div>
      {problem !== undefined && <p class="bad" role="alert">{message(problem)}</p>}
      <ul class="labs">
        {shown.map((lab) => (
          <li key={lab.name}>
            <h2>{lab.title}</h2>
            <p>{lab.question}</p>
            <div class="row"><code>{lab.name}</code><span class="faint">{lab.quick_time} quick, {lab.full_time} full</span><RunLab lab={lab} />{lab.reported && <a href={`/api/labs/${lab.name}/report`} target="_blank" rel="noopener">Report</a>}</div>
            {lab.said && <pre class="said">{lab.said}</pre>}
          </li>
        ))}
      </ul>
    </>
  );
}
