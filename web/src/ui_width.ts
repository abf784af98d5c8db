// How wide a drawing may be, so that its letters keep their size from 390 to 2560 pixels.
import { useEffect, useState } from 'preact/hooks';

export function useWidth<T extends HTMLElement>(usual: number): [(target: T | null) => void, number] {
  const [target, attach] = useState<T | null>(null);
  const [width, set] = useState(usual);
  useEffect(() => {
    if (!target) return undefined;
    const fit = new ResizeObserver(() => { if (target.clientWidth > 0) set(target.clientWidth); });
    fit.observe(target);
    return () => fit.disconnect();
  }, [target]);
  return [attach, width];
}
