// What a screen shows stands in the address, so that a link holds it: "#curves?axis=epoch&runs=a,b".
import { useEffect, useState } from 'preact/hooks';

export interface Address { screen: string; query: string }

const last = new Map<string, string>(); // of each screen, what it showed

function parsed(): Address {
  const [, screen, query] = /^#?(\w*)[/?]?(.*)$/.exec(location.hash) ?? ['', '', ''];
  return { screen: screen || 'runs', query };
}

/** Names of a screen's address are changed, the others stay; an empty value is left out. */
export function writeAddress(screen: string, change: Record<string, string>): void {
  const now = parsed();
  if (now.screen !== screen) return;
  const words = new URLSearchParams(now.query);
  for (const [name, value] of Object.entries(change)) if (value === '') words.delete(name); else words.set(name, value);
  const query = words.toString();
  last.set(screen, query);
  history.replaceState(null, '', `#${screen}${query === '' ? '' : `?${query}`}`);
}

/** Who comes back to a screen finds it as it was. */
export function useAddress(): Address {
  const read = (): Address => {
    const now = parsed();
    const before = last.get(now.screen);
    if (now.query !== '' || now.screen === 'run' || !before) return now;
    history.replaceState(null, '', `#${now.screen}?${before}`);
    return { screen: now.screen, query: before };
  };
  const [address, set] = useState(read);
  useEffect(() => {
    const changed = (): void => set(read());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return address;
}

/** The part of the address with these names, whose usual values are left out. */
export function useAddressed<T extends Record<string, string>>(screen: string, query: string, usual: T): [T, (change: Partial<T>) => void] {
  const read = (): T => {
    const given = new URLSearchParams(query);
    return Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, given.get(name) ?? value])) as T;
  };
  const [state, set] = useState(read);
  useEffect(() => set(read()), [query]);
  const change = (part: Partial<T>): void => set((old) => {
    const now = { ...old, ...part };
    writeAddress(screen, Object.fromEntries(Object.entries(now).map(([name, value]) => [name, value === usual[name] ? '' : value])));
    return now;
  });
  return [state, change];
}
