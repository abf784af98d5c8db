// Run directories in a browser: the runs, their curves, one run, plans, networks, servers and labs.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { HttpError, message } from './ask';
import { TokenForm } from './token_form';
import { useAddress, writeAddress } from './ui_address';
import { Chosen } from './ui_chosen';
import { Curves } from './ui_curves';
import { Logo, Save, Sun } from './ui_icons';
import { Labs } from './ui_labs';
import { ModelPage } from './ui_model';
import { Plan } from './ui_plan';
import { RunPage } from './ui_run';
import { saveView } from './ui_save';
import { ServePage } from './ui_serve';
import { Runs, useRuns } from './ui_store';
import { Table } from './ui_table';
import { changeTheme } from './ui_theme';

const screens = [['runs', 'Runs'], ['curves', 'Curves'], ['plan', 'Plan'], ['model', 'Model'], ['serve', 'Serve'], ['labs', 'Labs']];
const titleOf = (screen: string): string => screens.find(([name]) => name === screen)?.[1] ?? '';

/** The view as one file, and light or dark. */
function Tools({ title, runs }: { title: string; runs: Runs }) {
  const [said, say] = useState('');
  const running = [...runs.rows.values()].filter((row) => row.state === 'running').length;
  const save = (): void => {
    say('…');
    saveView(title).then(() => say(''), (problem: unknown) => say(message(problem)));
  };
  return (
    <div class="tools">
      {running > 0 && <span class="pill running">{running} running</span>}
      <span class="bad small" role="status">{said}</span>
      <button class="icon" onClick={save} title="Save what is shown as a report, one file" aria-label="Save as a report"><Save /></button>
      <button class="icon" onClick={changeTheme} title="Light or dark" aria-label="Change between light and dark"><Sun /></button>
    </div>
  );
}

function Empty() {
  return (
    <div class="card empty">
      <strong>There is no run in these folders yet</strong>
      <p>A training appears here within a second of its start.</p>
      <pre>trainyard train --model lenet5 --data fashion-mnist</pre>
    </div>
  );
}

function App() {
  const [runs, again] = useRuns();
  const { screen, query } = useAddress();
  const [chosen, setChosen] = useState<Chosen>(() => new URLSearchParams(query).get('runs')?.split(',') ?? []);
  const choose = (now: Chosen): void => {
    setChosen(now);
    writeAddress(screen, { runs: now.join() });
  };
  // The choice goes along from screen to screen.
  useEffect(() => {
    if (screen === 'runs' || screen === 'curves') writeAddress(screen, { runs: chosen.join() });
  }, [screen]);
  const wantsToken = runs.problem instanceof HttpError && runs.problem.status === 401;
  const title = screen === 'run' ? runs.rows.get(query)?.name ?? query : titleOf(screen);
  useEffect(() => { document.title = `${title} · Trainyard`; }, [title]);
  return (
    <>
      <header class="top">
        <a class="brand" href="#runs"><Logo />Trainyard</a>
        <nav aria-label="Screens">
          {screens.map(([name, text]) => <a key={name} href={`#${name}`} aria-current={screen === name || (screen === 'run' && name === 'runs') ? 'page' : undefined}>{text}</a>)}
        </nav>
        <Tools title={title} runs={runs} />
      </header>
      <main>
        {screen !== 'run' && <h1 class="hidden">{titleOf(screen)}</h1>}
        {wantsToken ? <TokenForm onDone={again} /> : runs.problem !== undefined && <p class="bad" role="alert">The server does not answer ({message(runs.problem)}); this page asks again.</p>}
        {screen === 'runs' && (runs.loaded && runs.rows.size === 0 ? <Empty /> : <Table runs={runs} selection={{ chosen, choose }} query={query} />)}
        {screen === 'curves' && <Curves runs={runs} chosen={chosen} choose={choose} query={query} />}
        {screen === 'run' && <RunPage id={query} row={runs.rows.get(query)} price={runs.price} />}
        {screen === 'plan' && <Plan query={query} runs={runs} />}
        {screen === 'model' && <ModelPage query={query} runs={[...runs.rows.values()].filter((row) => row.state === 'finished' && row.source === 'trainyard')} />}
        {screen === 'serve' && <ServePage />}
        {screen === 'labs' && <Labs />}
      </main>
    </>
  );
}

render(<App />, document.body);
