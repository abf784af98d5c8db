// What the program writes into a page for each chart (src/report/chart.cpp).

export type Kind = 'line' | 'scatter' | 'bar' | 'stacked' | 'histogram' | 'heat-map' | 'timeline';
export type Origin = 'plain' | 'measured' | 'predicted' | 'published' | 'ideal' | 'extrapolated';

/** x, y, low, high, value, label; what they mean depends on the kind. */
export type Point = [number | null, number | null, number | null, number | null, number | null, string];

export interface Series {
  name: string;
  origin: Origin;
  dashed: boolean;
  group: string;
  points: Point[];
}

export interface Axis {
  name: string;
  log: boolean;
  categories?: string[];
}

export interface Chart {
  kind: Kind;
  title: string;
  x: Axis;
  y: Axis;
  series: Series[];
  /** For each series the number of its color, where charts of a page have agreed on them. */
  colors?: number[];
}

/** Colors that follow the page: text, lines, and one per series. */
export interface Palette {
  ink: string;
  soft: string;
  line: string;
  card: string;
  series: string[];
  dark: boolean;
}

export function compact(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) {
    const units: [number, string][] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M']];
    for (const [unit, letter] of units) {
      if (size >= unit) return trimmed(value / unit) + letter;
    }
    return value.toExponential(1);
  }
  if (size >= 1e4) return `${trimmed(value / 1e3)}k`;
  return trimmed(value);
}

function trimmed(value: number): string {
  return String(Number(value.toPrecision(4)));
}
