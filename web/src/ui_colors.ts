// Colors of runs, readable on white and on dark.
const colors = ['#2f6fde', '#e0742b', '#2b9a63', '#d0443e', '#8a5fd0', '#0f93a5', '#c7508f', '#97762a', '#6b7a90', '#5f9a1c'];
export const mostColors = colors.length;
export const colorOf = (index: number): string => colors[index % colors.length];
