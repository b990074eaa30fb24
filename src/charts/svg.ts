/**
 * @file SVG as text: elements with escaped attributes, and the few shapes that charts are made of.
 */
import { AXIS, CLASSES, FAINT_INK, FONT, GRID, GROUND, INK, TEXT } from "./theme.ts";

export type Attributes = { readonly [name: string]: string | number | undefined };

/** Text as it may stand in XML and HTML, in attributes too; characters that XML does not know are replaced. */
export const escapeXml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that must not stand in XML
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])/g, "\ufffd")
    .replace(/(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** A coordinate with as many places as a screen can show. */
export const rounded = (x: number): number => Math.round(x * 100) / 100;

/** An element; attributes that are undefined are left out, children are SVG already. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(String(typeof value === "number" ? rounded(value) : value))}"`)
    .join("");
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join("")}</${name}>`;
}

export interface TextOptions {
  readonly size?: number;
  readonly anchor?: "start" | "middle" | "end";
  readonly bold?: boolean;
  readonly faint?: boolean;
  /** Degrees, around the text's own place. */
  readonly turn?: number;
}

export function text(x: number, y: number, content: string, options: TextOptions = {}): string {
  const { size = TEXT.tick, anchor, bold, faint, turn } = options;
  return element(
    "text",
    {
      x,
      y,
      class: faint ? CLASSES.faint : CLASSES.ink,
      fill: faint ? FAINT_INK : INK,
      "font-size": size,
      "text-anchor": anchor,
      "font-weight": bold ? 600 : undefined,
      transform: turn === undefined ? undefined : `rotate(${turn} ${rounded(x)} ${rounded(y)})`,
    },
    escapeXml(content),
  );
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: "grid" | "axis"): string {
  return element("line", { x1, y1, x2, y2, class: CLASSES[kind], stroke: kind === "grid" ? GRID : AXIS });
}

/** A whole picture. `label` is what readers of the screen hear. */
export function picture(width: number, height: number, label: string, parts: readonly string[]): string {
  return `${element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${rounded(width)} ${rounded(height)}`,
      role: "img",
      "aria-label": label,
      "font-family": FONT,
    },
    element("rect", { width, height, class: CLASSES.ground, fill: GROUND }),
    ...parts,
  )}\n`;
}
