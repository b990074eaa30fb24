/**
 * @file Drawings as text for a terminal: braille characters hold two by four dots each, coloured where the terminal can.
 *
 * A dot has one colour, a character one too: that of the dot drawn last in it.
 */
import type { Colour, Point } from "../canvas.ts";
import type { Drawing, Shape } from "./shapes.ts";

const ANSI: { readonly [C in Colour]: number } = {
  ink: 37,
  grey: 90,
  red: 31,
  orange: 33,
  yellow: 93,
  green: 32,
  blue: 34,
  purple: 35,
  brown: 33,
};
/** The bit of each dot in a braille character, by row and column. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

export interface TerminalOptions {
  /** Characters per line; 60 unless given. */
  readonly width?: number;
  /** Whether to write colours; not unless asked. */
  readonly colour?: boolean;
}

class Dots {
  readonly columns: number;
  readonly rows: number;
  readonly #bits: Uint8Array;
  readonly #colours: (Colour | undefined)[];
  readonly #texts = new Map<number, { readonly text: string; readonly colour: Colour }>();

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
    this.#bits = new Uint8Array(columns * rows);
    this.#colours = new Array(columns * rows).fill(undefined);
  }

  set(x: number, y: number, colour: Colour): void {
    const [column, row] = [Math.floor(x / 2), Math.floor(y / 4)];
    if (column < 0 || column >= this.columns || row < 0 || row >= this.rows) return;
    const at = row * this.columns + column;
    this.#bits[at] = (this.#bits[at] as number) | (DOTS[Math.floor(y) & 3]?.[Math.floor(x) & 1] ?? 0);
    this.#colours[at] = colour;
  }
  write(x: number, y: number, text: string, colour: Colour): void {
    const row = Math.min(this.rows - 1, Math.max(0, Math.floor(y / 4)));
    this.#texts.set(row * this.columns + Math.max(0, Math.floor(x / 2)), { text, colour });
  }

  line(row: number, paint: (text: string, colour: Colour) => string): string {
    let line = "";
    for (let column = 0; column < this.columns; column++) {
      const at = row * this.columns + column;
      const words = this.#texts.get(at);
      if (words) {
        const text = words.text.slice(0, this.columns - column);
        line += paint(text, words.colour);
        column += text.length - 1;
      } else if (this.#bits[at]) {
        line += paint(String.fromCharCode(0x2800 + (this.#bits[at] as number)), this.#colours[at] ?? "ink");
      } else line += " ";
    }
    return line.trimEnd();
  }
}

/** Whether a point lies inside a polygon, by counting the edges to its right. */
function isInside(points: readonly Point[], x: number, y: number): boolean {
  let inside = false;
  points.forEach(([x1, y1], k) => {
    const [x0, y0] = points.at(k - 1) as Point;
    if (y1 > y !== y0 > y && x < ((x0 - x1) * (y - y1)) / (y0 - y1) + x1) inside = !inside;
  });
  return inside;
}

/** Sets every dot of a rectangle for which `test` holds. */
function fill(dots: Dots, colour: Colour, from: Point, to: Point, test: (x: number, y: number) => boolean): void {
  for (let y = Math.floor(from[1]); y <= to[1]; y++)
    for (let x = Math.floor(from[0]); x <= to[0]; x++) if (test(x + 0.5, y + 0.5)) dots.set(x, y, colour);
}

function drawShape(dots: Dots, s: Shape, place: (p: Point) => Point, scale: number): void {
  switch (s.kind) {
    case "line": {
      const [[x0, y0], [x1, y1]] = [place(s.from), place(s.to)];
      const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0))));
      for (let k = 0; k <= steps; k++) dots.set(x0 + ((x1 - x0) * k) / steps, y0 + ((y1 - y0) * k) / steps, s.colour);
      return;
    }
    case "polygon": {
      const points = s.points.map(place);
      const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
      const corners: [Point, Point] = [
        [Math.min(...xs), Math.min(...ys)],
        [Math.max(...xs), Math.max(...ys)],
      ];
      return fill(dots, s.colour, ...corners, (x, y) => isInside(points, x, y));
    }
    case "circle": {
      const [cx, cy] = place(s.centre);
      const radius = Math.max(s.radius * scale, 0.8);
      const within = (x: number, y: number): boolean => (x - cx) ** 2 + (y - cy) ** 2 <= radius * radius;
      return fill(dots, s.colour, [cx - radius, cy - radius], [cx + radius, cy + radius], within);
    }
    case "text": {
      const [x, y] = place(s.at);
      return dots.write(x, y, s.text, s.colour);
    }
    default:
      return s satisfies never;
  }
}

/** A drawing as lines of text. */
export function toTerminal({ least, greatest, shapes }: Drawing, options: TerminalOptions = {}): string {
  const { width = 60, colour = false } = options;
  const scale = (2 * width) / (greatest[0] - least[0]);
  const dots = new Dots(width, Math.max(1, Math.ceil(((greatest[1] - least[1]) * scale) / 4)));
  const place = ([x, y]: Point): Point => [(x - least[0]) * scale, (greatest[1] - y) * scale];
  for (const s of shapes) drawShape(dots, s, place, scale);
  const paint = (text: string, c: Colour): string => (colour ? `\u001b[${ANSI[c]}m${text}\u001b[0m` : text);
  return Array.from({ length: dots.rows }, (_, row) => dots.line(row, paint)).join("\n");
}
