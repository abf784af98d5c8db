// Numbers as people read them.
export const percent = (share: number | null | undefined): string => (typeof share === 'number' ? `${(100 * share).toFixed(2)} %` : '');

export function short(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en-US');
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  return size >= 1e-3 ? Number(value.toPrecision(4)).toString() : value.toExponential(2);
}

export function seconds(value: number | undefined): string {
  if (value === undefined) return '';
  if (value < 60) return `${value.toFixed(1)} s`;
  const pad = (number: number): string => String(number).padStart(2, '0');
  const whole = Math.round(value);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(whole % 60)} h` : `${minutes}:${pad(whole % 60)} min`;
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(value, 1)) / 3)));
  return `${(value / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

/** Beside an axis there is little room: 2.5 G. */
export function tick(value: number): string {
  const units = ['', 'k', 'M', 'G', 'T'];
  const size = Math.abs(value);
  if (size < 10000) return short(value);
  const step = Math.min(units.length - 1, Math.floor(Math.log10(size) / 3));
  return `${Number((value / 1000 ** step).toPrecision(4))} ${units[step]}`;
}

export const milliseconds = (value: number | undefined): string => (value === undefined ? '' : value >= 1000 ? `${Number((value / 1000).toPrecision(3))} s` : `${Number(value.toPrecision(3))} ms`);
export const dollars = (value: number | null | undefined): string => (typeof value === 'number' ? `$${value < 0.1 ? value.toFixed(4) : short(Number(value.toFixed(2)))}` : '');
