/**
 * @file Drawings as SVG: one self-contained picture.
 */
import type { Colour, Point } from "../canvas.ts";
import type { Drawing, Shape } from "./shapes.ts";

const COLOURS: { readonly [C in Colour]: string } = {
  ink: "#222831",
  grey: "#9aa5b1",
  red: "#d64545",
  orange: "#dd7a1f",
  yellow: "#e0b400",
  green: "#3a9d5d",
  blue: "#2f6fb0",
  purple: "#7b4fa3",
  brown: "#8a5a3b",
};

const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const rounded = (x: number): string => String(Math.round(x * 100) / 100);

export interface SvgOptions {
  /** Width in pixels; 480 unless given. The height follows from the drawing. */
  readonly width?: number;
}

/** A drawing as the text of an SVG file. */
export function toSvg({ least, greatest, shapes }: Drawing, options: SvgOptions = {}): string {
  const { width = 480 } = options;
  const scale = width / (greatest[0] - least[0]);
  const height = Math.round((greatest[1] - least[1]) * scale);
  const place = ([x, y]: Point): readonly [string, string] => [
    rounded((x - least[0]) * scale),
    rounded((greatest[1] - y) * scale),
  ];
  const shape = (s: Shape): string => {
    const colour = COLOURS[s.colour];
    switch (s.kind) {
      case "line": {
        const [[x1, y1], [x2, y2]] = [place(s.from), place(s.to)];
        const stroke = `stroke="${colour}" stroke-width="3" stroke-linecap="round"`;
        return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${stroke}/>`;
      }
      case "polygon":
        return `<polygon points="${s.points.map((p) => place(p).join(",")).join(" ")}" fill="${colour}"/>`;
      case "circle": {
        const [cx, cy] = place(s.centre);
        return `<circle cx="${cx}" cy="${cy}" r="${rounded(s.radius * scale)}" fill="${colour}"/>`;
      }
      case "text": {
        const [x, y] = place(s.at);
        return `<text x="${x}" y="${y}" fill="${colour}" font-family="sans-serif" font-size="18">${escaped(s.text)}</text>`;
      }
      default:
        return s satisfies never;
    }
  };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="${width}" height="${height}" fill="#fbfbf9"/>`,
    ...shapes.map(shape),
    "</svg>",
    "",
  ].join("\n");
}
