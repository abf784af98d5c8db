// Run directories in a browser: the runs, their curves, one run, plans, networks, servers and labs.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { HttpError, message } from './ask';
import { TokenForm } from './token_form';
import { Curves } from './ui_curves';
import { Labs } from './ui_labs';
import { ModelPage } from './ui_model';
import { Plan } from './ui_plan';
import { RunPage } from './ui_run';
import { ServePage } from './ui_serve';
import { useRuns } from './ui_store';
import { Table } from './ui_table';

const screens = [['runs', 'Runs'], ['curves', 'Curves'], ['plan', 'Plan'], ['model', 'Model'], ['serve', 'Serve'], ['labs', 'Labs']];

/** "#run/ID" and "#plan?…" as screen and what follows. */
function useAddress(): { screen: string; rest: string } {
  const read = () => {
    const [, screen, rest] = /^#?(\w*)[/?]?(.*)$/.exec(location.hash) ?? ['', '', ''];
    return { screen: screen || 'runs', rest };
  };
  const [address, set] = useState(read);
  useEffect(() => {
    const changed = (): void => set(read());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return address;
}

function App() {
  const [runs, again] = useRuns();
  const [chosen, choose] = useState<string[]>([]);
  const { screen, rest } = useAddress();
  const wantsToken = runs.problem instanceof HttpError && runs.problem.status === 401;
  return (
    <>
      <header>
        <strong>Trainyard</strong>
        <nav aria-label="Screens">
          {screens.map(([name, title]) => <a key={name} href={`#${name}`} aria-current={screen === name ? 'page' : undefined}>{title}</a>)}
        </nav>
      </header>
      <main>
        {screen !== 'run' && <h1 class="hidden">{screens.find(([name]) => name === screen)?.[1]}</h1>}
        {wantsToken ? <TokenForm onDone={again} /> : runs.problem !== undefined && <p class="bad" role="alert">The server does not answer ({message(runs.problem)}); this page asks again.</p>}
        {screen === 'runs' && (runs.loaded && runs.rows.size === 0
          ? <p>There is no run in these folders yet. <code>trainyard train</code> makes one.</p>
          : <Table runs={runs} selection={{ chosen, choose }} />)}
        {screen === 'curves' && <Curves runs={runs} chosen={chosen} />}
        {screen === 'run' && <RunPage id={rest} row={runs.rows.get(rest)} />}
        {screen === 'plan' && <Plan query={rest} runs={runs} />}
        {screen === 'model' && <ModelPage query={rest} runs={[...runs.rows.values()].filter((row) => row.state === 'finished' && row.source === 'trainyard')} />}
        {screen === 'serve' && <ServePage />}
        {screen === 'labs' && <Labs />}
      </main>
    </>
  );
}

render(<App />, document.body);
