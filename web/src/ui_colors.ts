// Colors of runs, readable on white and on dark.
const colors = ['#3b7dd8', '#e0782f', '#2f9e62', '#c9473f', '#8b63cc', '#a07a3c', '#cf5b9f', '#2a9aa8'];
export const colorOf = (index: number): string => colors[index % colors.length];
