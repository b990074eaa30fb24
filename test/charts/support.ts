/**
 * @file Pictures, read back: whether they are whole XML, and where their text stands.
 */
import { textWidth } from "../../src/charts/theme.ts";

const TAG = /<(\/?)([a-z]+)((?: [a-zA-Z0-9:-]+="[^"<]*")*)(\/?)>/y;

/** What is wrong with a piece of XML made of elements, double-quoted attributes and text; empty when nothing is. */
export function xmlFault(xml: string): string {
  const open: string[] = [];
  let at = 0;
  while (at < xml.length) {
    if (xml[at] !== "<") {
      const text = /[^<]*/y;
      text.lastIndex = at;
      const found = text.exec(xml)?.[0] ?? "";
      if (/&(?!#\d+;)/.test(found)) return `a bare & in "${found}"`;
      if (open.length === 0 && found.trim() !== "") return `text outside of the root: "${found}"`;
      at += found.length;
      continue;
    }
    TAG.lastIndex = at;
    const [whole = "", closing, name = "", attributes = "", empty] = TAG.exec(xml) ?? [];
    if (whole === "") return `no tag at "${xml.slice(at, at + 40)}"`;
    if (/&(?!#\d+;)/.test(attributes)) return `a bare & in ${attributes}`;
    if (closing) {
      if (open.pop() !== name) return `</${name}> closes something else`;
    } else if (!empty) open.push(name);
    at += whole.length;
  }
  return open.length === 0 ? "" : `${open.join(", ")} left open`;
}

export interface TextBox {
  readonly content: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const attribute = (tag: string, name: string): string | undefined => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
const plain = (text: string): string =>
  text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

/** The boxes of all texts that lie flat, by estimated widths. */
export function textBoxes(svg: string): TextBox[] {
  return [...svg.matchAll(/<text([^>]*)>([^<]*)<\/text>/g)]
    .filter(([, tag = ""]) => attribute(tag, "transform") === undefined)
    .map(([, tag = "", content = ""]) => {
      const [x, y, size] = ["x", "y", "font-size"].map((name) => Number(attribute(tag, name))) as [
        number,
        number,
        number,
      ];
      const width = textWidth(plain(content), size);
      const anchor = attribute(tag, "text-anchor") ?? "start";
      const left = x - { start: 0, middle: width / 2, end: width }[anchor as "start" | "middle" | "end"];
      return { content: plain(content), left, right: left + width, top: y - size * 0.75, bottom: y + size * 0.2 };
    });
}

/** Pairs of texts that stand on each other, and texts that leave the picture. */
export function textFaults(svg: string): string[] {
  const boxes = textBoxes(svg);
  const [width, height] = ["width", "height"].map((name) => Number(attribute(svg, name))) as [number, number];
  const overlapping = boxes.flatMap((a, k) =>
    boxes
      .slice(k + 1)
      .filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
      .map((b) => `"${a.content}" on "${b.content}"`),
  );
  const outside = boxes.filter(
    ({ left, right, top, bottom }) => left < -1 || right > width + 1 || top < 0 || bottom > height,
  );
  return [...overlapping, ...outside.map(({ content }) => `"${content}" outside`)];
}
