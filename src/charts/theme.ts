/**
 * @file What all charts look like: colours, fonts, sizes, and how wide text is.
 *
 * Colours are told apart with the common kinds of colour blindness, and stand out on a light and on a dark ground. Every
 * element carries both plain attributes, for files of their own, and a class, by which a page that embeds the chart may
 * change it (`DARK_STYLE`). Widths of text are estimates for a wide font, since there is no one to ask: text may end
 * early, but does not run into its neighbour.
 */

export const FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif";

export const GROUND = "#ffffff";
export const INK = "#1f2933";
export const FAINT_INK = "#52606d";
export const GRID = "#e3e8ee";
export const AXIS = "#9aa5b1";

/** Class names of what a page may recolour. */
export const CLASSES = {
  ground: "chart-ground",
  ink: "chart-ink",
  faint: "chart-faint",
  grid: "chart-grid",
  axis: "chart-axis",
} as const;

/** Rules for charts that stand in a dark page. */
export const DARK_STYLE = [
  `.${CLASSES.ground} { fill: transparent }`,
  `.${CLASSES.ink} { fill: #e6ebf0 }`,
  `.${CLASSES.faint} { fill: #a9b4c0 }`,
  `.${CLASSES.grid} { stroke: #2d3640 }`,
  `.${CLASSES.axis} { stroke: #66717d }`,
].join(" ");

const SERIES_COLOURS = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#e69f00",
  "#56b4e9",
  "#7b61a8",
  "#7a8793",
] as const;
const DASHES = [undefined, "6 3", "2 3", "8 3 2 3"] as const;

export interface Stroke {
  readonly colour: string;
  /** A dash pattern, once colours begin again. */
  readonly dash: string | undefined;
}

/** The look of the k-th series: another colour each, and dashes when there are more series than colours. */
export function strokeOf(k: number): Stroke {
  const round = Math.floor(k / SERIES_COLOURS.length) % DASHES.length;
  return { colour: SERIES_COLOURS[k % SERIES_COLOURS.length] as string, dash: DASHES[round] };
}

export const TEXT = { title: 14, label: 12, tick: 11 } as const;

const LEAST_WIDTH = 0.34;
/** Widths of characters in parts of the font size; all others are as wide as a lower-case letter. */
const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/[ijl.,:;'|! ]/, LEAST_WIDTH],
  [/[frt()[\]\-/]/, 0.45],
  [/[mwMW@%]/, 0.98],
  [/[A-Z0-9]/, 0.68],
  [/[\u1100-\uffff]/, 1.05],
];
const COMMON_WIDTH = 0.62;

/** About how wide text is, in the unit of its size. */
export function textWidth(text: string, size: number): number {
  let width = 0;
  for (const character of text) width += WIDTHS.find(([form]) => form.test(character))?.[1] ?? COMMON_WIDTH;
  return width * size;
}

/** The text, or as much of its beginning as fits, with an ellipsis. */
export function cutToWidth(text: string, width: number, size: number): string {
  // No more than could fit is looked at: text comes from files of others, and may be very long.
  const most = Math.ceil((2 * width) / (LEAST_WIDTH * size)) + 2;
  if (text.length <= most && textWidth(text, size) <= width) return text;
  const characters = [...text.slice(0, most)];
  while (characters.length > 0 && textWidth(`${characters.join("")}…`, size) > width) characters.pop();
  return `${characters.join("").trimEnd()}…`;
}
