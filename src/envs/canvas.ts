/**
 * @file The canvas that environments draw on: a few shapes in coordinates of the environment's own choice. What becomes
 * of them (characters in a terminal, SVG, pixels) is the renderer's business.
 */

/** Named colours, which renderers translate to what they have. */
export type Colour = "ink" | "grey" | "red" | "orange" | "yellow" | "green" | "blue" | "purple" | "brown";
export type Point = readonly [x: number, y: number];

export interface Canvas {
  /** The corner of least and the corner of greatest coordinates; y grows upwards. To be called first. */
  view(least: Point, greatest: Point): void;
  line(from: Point, to: Point, colour?: Colour): void;
  /** A filled polygon. */
  polygon(points: readonly Point[], colour?: Colour): void;
  /** A filled circle. */
  circle(centre: Point, radius: number, colour?: Colour): void;
  text(at: Point, text: string, colour?: Colour): void;
}
