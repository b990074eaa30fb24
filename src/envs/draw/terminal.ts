/**
 * @file Drawings as text for a terminal: braille characters hold two by four dots each, coloured where the terminal can.
 *
 * A dot has one colour, a character one too: that of the dot drawn last in it. Without colours, areas are told apart by
 * their texture.
 */
import type { Colour, Point } from "../canvas.ts";
import type { Drawing, Shape } from "./shapes.ts";

const ANSI: { readonly [C in Colour]: number } = {
  ink: 39,
  grey: 90,
  red: 31,
  orange: 33,
  yellow: 93,
  green: 32,
  blue: 34,
  purple: 35,
  brown: 33,
};
/** Which dots of an area are set where there are no colours. */
const TEXTURES: { readonly [C in Colour]: (x: number, y: number) => boolean } = {
  ink: () => true,
  grey: (x, y) => (x + y) % 2 === 0,
  red: () => true,
  orange: () => true,
  yellow: (x) => x % 2 === 0,
  green: (_, y) => y % 2 === 0,
  blue: () => true,
  purple: (x, y) => (x + y) % 4 !== 0,
  brown: (x, y) => (x + y) % 3 !== 0,
};
/** The bit of each dot in a braille character, by row and column. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

export interface TerminalOptions {
  /** Characters per line at most; 60 unless given. */
  readonly width?: number;
  /** Lines at most; 24 unless given. */
  readonly height?: number;
  /** Whether to write colours; not unless asked. */
  readonly colour?: boolean;
}

class Dots {
  readonly columns: number;
  readonly rows: number;
  readonly #bits: Uint8Array;
  readonly #colours: (Colour | undefined)[];
  readonly #texts = new Map<number, { readonly text: string; readonly colour: Colour }>();

  readonly #textured: boolean;

  constructor(columns: number, rows: number, textured: boolean) {
    this.#textured = textured;
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
  /** A dot of an area, which covers what was there. */
  cover(x: number, y: number, colour: Colour): void {
    if (this.#textured && !TEXTURES[colour](x, y)) this.clear(x, y);
    else this.set(x, y, colour);
  }
  clear(x: number, y: number): void {
    const [column, row] = [Math.floor(x / 2), Math.floor(y / 4)];
    if (column < 0 || column >= this.columns || row < 0 || row >= this.rows) return;
    const at = row * this.columns + column;
    this.#bits[at] = (this.#bits[at] as number) & ~(DOTS[Math.floor(y) & 3]?.[Math.floor(x) & 1] ?? 0);
  }
  write(x: number, y: number, text: string, colour: Colour): void {
    const row = Math.min(this.rows - 1, Math.max(0, Math.floor(y / 4)));
    this.#texts.set(row * this.columns + Math.max(0, Math.floor(x / 2)), { text, colour });
  }

  line(row: number, paint: (text: string, colour: Colour) => string): string {
    let line = "";
    let [run, runColour]: [string, Colour | undefined] = ["", undefined];
    // Neighbours of one colour are written at once; a gap has none and belongs to what stands before it.
    const add = (text: string, colour: Colour | undefined): void => {
      if (colour !== undefined && runColour !== undefined && colour !== runColour) {
        line += paint(run, runColour);
        run = "";
      }
      run += text;
      runColour = colour ?? runColour;
    };
    for (let column = 0; column < this.columns; column++) {
      const at = row * this.columns + column;
      const words = this.#texts.get(at);
      if (words) {
        const text = words.text.slice(0, this.columns - column);
        add(text, words.colour);
        column += text.length - 1;
      } else if (this.#bits[at]) add(String.fromCharCode(0x2800 + (this.#bits[at] as number)), this.#colours[at]);
      else add(" ", undefined);
    }
    return runColour === undefined ? "" : line + paint(run.trimEnd(), runColour);
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

/** Calls `mark` for every dot of a rectangle for which `test` holds. */
function fill(
  mark: (x: number, y: number) => void,
  from: Point,
  to: Point,
  test: (x: number, y: number) => boolean,
): void {
  for (let y = Math.floor(from[1]); y <= to[1]; y++)
    for (let x = Math.floor(from[0]); x <= to[0]; x++) if (test(x + 0.5, y + 0.5)) mark(x, y);
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
      return fill(
        (x, y) => dots.cover(x, y, s.colour),
        ...corners,
        (x, y) => isInside(points, x, y),
      );
    }
    case "circle": {
      const [cx, cy] = place(s.centre);
      const radius = Math.max(s.radius * scale, 0.8);
      const disc = (r: number, mark: (x: number, y: number) => void): void =>
        fill(mark, [cx - r, cy - r], [cx + r, cy + r], (x, y) => (x - cx) ** 2 + (y - cy) ** 2 <= r * r);
      // A dot of distance around it: a circle is seen on an area of its own texture too.
      disc(radius + 1, (x, y) => dots.clear(x, y));
      return disc(radius, (x, y) => dots.cover(x, y, s.colour));
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
  const { width = 60, height = 24, colour = false } = options;
  const [across, up] = [greatest[0] - least[0], greatest[1] - least[1]];
  // One dot is kept free, so that lines along the right and the lower edge belong to the picture.
  const scale = Math.min((2 * width - 1) / across, (4 * height - 1) / up);
  // The limits once more: products are rounded.
  const columns = Math.min(width, Math.ceil((across * scale + 1) / 2));
  const rows = Math.min(height, Math.ceil((up * scale + 1) / 4));
  const dots = new Dots(columns, rows, !colour);
  const place = ([x, y]: Point): Point => [(x - least[0]) * scale, (greatest[1] - y) * scale];
  for (const s of shapes) drawShape(dots, s, place, scale);
  const paint = (text: string, c: Colour): string => (colour ? `\u001b[${ANSI[c]}m${text}\u001b[0m` : text);
  return Array.from({ length: dots.rows }, (_, row) => dots.line(row, paint)).join("\n");
}
