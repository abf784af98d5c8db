// Keeps the rows up to date while the page is open.
import { useEffect, useState } from 'preact/hooks';
import { loadRows, Row, Rows, setAction, waitForNews } from './ui_api';

export interface Runs {
  rows: Map<string, Row>;
  differ: string[];
  loaded: boolean;
  price: number | null; // of the machine, in dollars per hour
  problem?: unknown; // of the last look; the next one comes by itself
}

const nothing: Runs = { rows: new Map(), differ: [], loaded: false, price: null };
const sleep = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

function merged(old: Runs, news: Rows): Runs {
  const rows = new Map(old.rows);
  for (const id of news.gone) rows.delete(id);
  for (const row of news.runs) rows.set(row.id, row);
  return { rows, differ: news.differ, loaded: true, price: old.price };
}

async function follow(set: (change: (old: Runs) => Runs) => void, stop: AbortSignal): Promise<void> {
  let version = '';
  while (!stop.aborted) {
    try {
      if (version === '') {
        const all = await loadRows();
        version = all.version;
        setAction(all.action);
        set(() => merged({ ...nothing, price: all.price }, all));
      }
      const news = await waitForNews(version, stop);
      // Versions begin with the start of the server: after another start all is read again.
      const restarted = news.version.split('.')[0] !== version.split('.')[0];
      version = restarted ? '' : news.version;
      set((old) => (news.rows ? merged(old, news.rows) : { ...old, problem: undefined }));
    } catch (problem) {
      if (stop.aborted) return;
      set((old) => ({ ...old, problem }));
      await sleep(1000);
    }
  }
}

/** The runs, and what makes the page look again at once. */
export function useRuns(): [Runs, () => void] {
  const [runs, set] = useState<Runs>(nothing);
  const [round, again] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    void follow(set, stop.signal);
    return () => stop.abort();
  }, [round]);
  return [runs, () => again((old) => old + 1)];
}
