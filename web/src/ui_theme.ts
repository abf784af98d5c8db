// Light or dark: what the system says, until somebody chooses.
import { useEffect, useState } from 'preact/hooks';

const key = 'trainyard-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function apply(): void {
  const chosen = localStorage.getItem(key);
  document.documentElement.dataset.theme = chosen ?? (system.matches ? 'dark' : 'light');
  dispatchEvent(new Event('themechange'));
}
apply();
system.addEventListener('change', apply);

const current = (): string => document.documentElement.dataset.theme ?? 'light';
export const changeTheme = (): void => {
  localStorage.setItem(key, current() === 'dark' ? 'light' : 'dark');
  apply();
};

/** Charts on a canvas have colors of their own and are drawn again. */
export function useTheme(): string {
  const [theme, set] = useState(current);
  useEffect(() => {
    const changed = (): void => set(current());
    addEventListener('themechange', changed);
    return () => removeEventListener('themechange', changed);
  }, []);
  return theme;
}

/** Of a variable of the style: "--line". */
export const colorNamed = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
