// Where the labels of points find room: on no other label and on no point. A label without room is left to the pointer.
import type { EChartsType } from 'echarts/core';
import type { Chart } from './chart_data';

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif";
export const LABEL_SIZE = 11;
export const LABEL_GAP = 5;
const MARK = 7;  // of a point, in pixels
const MOST_LABELS = 48;
const LINE_PIECE = 4;  // pixels

export type Side = 'right' | 'left' | 'top' | 'bottom';
/** By series and point; nothing where there is no label. */
export type Sides = (Side | undefined)[][];

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

const apart = (a: Box, b: Box) => a.left + a.width <= b.left || b.left + b.width <= a.left || a.top + a.height <= b.top || b.top + b.height <= a.top;

function beside([x, y]: number[], side: Side, width: number): Box {
  const height = LABEL_SIZE + 4;
  const far = MARK / 2 + LABEL_GAP;
  const left = { right: x + far, left: x - far - width, top: x - width / 2, bottom: x - width / 2 }[side];
  const top = { right: y - height / 2, left: y - height / 2, top: y - far - height, bottom: y + far }[side];
  return { left, top, width, height };
}

function textWidth(text: string): number {
  const context = document.createElement('canvas').getContext('2d')!;
  context.font = `${LABEL_SIZE}px ${FONT}`;
  return context.measureText(text).width + 4;
}

/** What a line through points covers, in small pieces. */
function alongLine(points: number[][]): Box[] {
  return points.slice(1).flatMap(([x, y], index) => {
    const [x0, y0] = points[index];
    const pieces = Math.max(1, Math.ceil(Math.hypot(x - x0, y - y0) / LINE_PIECE));
    return Array.from({ length: pieces + 1 }, (_, k) => ({ left: x0 + ((x - x0) * k) / pieces, top: y0 + ((y - y0) * k) / pieces, width: 1, height: 1 }));
  });
}

/** Of a chart that was drawn without labels. */
export function sidesOf(chart: Chart, view: EChartsType): Sides {
  const named = chart.series.reduce((sum, series) => sum + series.points.filter((p) => p[5] !== '').length, 0);
  if (chart.kind !== 'scatter' || named === 0 || named > MOST_LABELS) return [];
  const pixels = chart.series.map((series) => series.points.map((p) => view.convertToPixel({ gridIndex: 0 }, [p[0], p[1]] as number[]) as number[]));
  const marks: Box[] = pixels.flat().map(([x, y]) => ({ left: x - MARK / 2, top: y - MARK / 2, width: MARK, height: MARK }));
  const lines = chart.series.flatMap((series, index) => (series.origin === 'ideal' ? alongLine(pixels[index]) : []));
  const taken: Box[] = [...marks, ...lines];
  const inside = (box: Box) => [[box.left, box.top], [box.left + box.width, box.top + box.height]].every((corner) => view.containPixel({ gridIndex: 0 }, corner));
  return chart.series.map((series, index) => series.points.map((point, at) => {
    if (point[5] === '') return undefined;
    const width = textWidth(point[5]);
    const side = (['right', 'left', 'top', 'bottom'] as Side[]).find((one) => {
      const box = beside(pixels[index][at], one, width);
      return inside(box) && taken.every((other) => apart(box, other));
    });
    if (side) taken.push(beside(pixels[index][at], side, width));
    return side;
  }));
}
