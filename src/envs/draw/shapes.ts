/**
 * @file A canvas that remembers what was drawn on it: environments draw once, renderers read the list.
 */
import type { Canvas, Colour, Point } from "../canvas.ts";

export type Shape =
  | { readonly kind: "line"; readonly from: Point; readonly to: Point; readonly colour: Colour }
  | { readonly kind: "polygon"; readonly points: readonly Point[]; readonly colour: Colour }
  | { readonly kind: "circle"; readonly centre: Point; readonly radius: number; readonly colour: Colour }
  | { readonly kind: "text"; readonly at: Point; readonly text: string; readonly colour: Colour };

/** What was drawn, and the part of the plane that is shown. */
export interface Drawing {
  readonly least: Point;
  readonly greatest: Point;
  readonly shapes: readonly Shape[];
}

/** Runs `draw` on a canvas and gives what it drew. */
export function drawn(draw: (canvas: Canvas) => void): Drawing {
  let [least, greatest]: [Point, Point] = [
    [0, 0],
    [1, 1],
  ];
  const shapes: Shape[] = [];
  draw({
    view: (from, to) => {
      least = from;
      greatest = to;
    },
    line: (from, to, colour = "ink") => void shapes.push({ kind: "line", from, to, colour }),
    polygon: (points, colour = "ink") => void shapes.push({ kind: "polygon", points, colour }),
    circle: (centre, radius, colour = "ink") => void shapes.push({ kind: "circle", centre, radius, colour }),
    text: (at, text, colour = "ink") => void shapes.push({ kind: "text", at, text, colour }),
  });
  return { least, greatest, shapes };
}
