/**
 * @file Pages of one file: HTML with its style inside, no scripts, nothing from the network, for narrow and wide
 * screens, light and dark.
 *
 * Charts stand in the page as SVG, so that they follow its colours. Pictures from elsewhere stand in `img` elements:
 * nothing in them is executed there.
 */
import { DARK_STYLE, escapeXml, FONT } from "../charts/index.ts";

/** Text as HTML. */
export const html = escapeXml;

const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";

const STYLE = `
:root { --ground: #f5f7f9; --card: #ffffff; --ink: #1f2933; --faint: #52606d; --rule: #d9e0e7; --note: #fff6e0 }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 ${FONT} }
main { max-width: 1120px; margin: 0 auto; padding: 16px }
h1 { font-size: 24px; line-height: 1.25; margin: 8px 0 4px; overflow-wrap: anywhere }
h2 { font-size: 17px; margin: 28px 0 10px }
p { margin: 6px 0 }
.faint, figcaption { color: var(--faint); font-size: 13px }
.notes { background: var(--note); border-radius: 6px; padding: 8px 12px; margin: 12px 0 }
.notes p { margin: 2px 0; overflow-wrap: anywhere }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 14px; align-items: start }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 6px; margin: 0; min-width: 0 }
.card svg, .card img { display: block; width: 100%; height: auto; border-radius: 4px }
.card figcaption { padding: 2px 6px 6px }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 4px 10px; border-bottom: 1px solid var(--rule); vertical-align: top }
tr:last-child > * { border-bottom: none }
th { font-weight: 500; color: var(--faint); white-space: nowrap }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
.wide td { white-space: nowrap }
td.number, th.number { text-align: right }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14181d; --card: #1b2128; --ink: #e6ebf0; --faint: #a9b4c0; --rule: #323c47; --note: #3a3320 }
  ${DARK_STYLE}
}
`;

/** A whole page around some parts, which are HTML already. */
export function page(title: string, parts: readonly string[]): string {
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${html(POLICY)}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${html(title)}</title>`,
    `<style>${STYLE}</style>`,
    "</head>",
    "<body>",
    "<main>",
    ...parts.filter((part) => part !== ""),
    "</main>",
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

/** A heading with what stands under it; nothing when there is nothing. */
export function section(title: string, parts: readonly string[]): string {
  const some = parts.filter((part) => part !== "");
  return some.length === 0 ? "" : ["<section>", `<h2>${html(title)}</h2>`, ...some, "</section>"].join("\n");
}

export const cards = (figures: readonly string[]): string =>
  figures.length === 0 ? "" : ['<div class="cards">', ...figures, "</div>"].join("\n");

/** A chart, which is SVG made here, with a line below it. */
export function figure(svg: string, caption?: string): string {
  const below = caption === undefined ? "" : `<figcaption>${html(caption)}</figcaption>`;
  return `<figure class="card">${svg.trimEnd()}${below}</figure>`;
}

/** A picture from elsewhere. */
export const foreignPicture = (svg: string, alternative: string): string =>
  `<figure class="card"><img alt="${html(alternative)}" src="data:image/svg+xml,${encodeURIComponent(svg)}"></figure>`;

/** Names with values. */
export function factsTable(facts: readonly (readonly [string, string])[]): string {
  const rows = facts.map(([name, value]) => `<tr><th scope="row">${html(name)}</th><td>${html(value)}</td></tr>`);
  return rows.length === 0 ? "" : `<div class="card scroll"><table>${rows.join("\n")}</table></div>`;
}

/** A table with a head; columns named in `right` hold numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], right: readonly number[]): string {
  const cells = (tag: "th" | "td", row: readonly string[]): string =>
    row.map((cell, k) => `<${tag}${right.includes(k) ? ' class="number"' : ""}>${html(cell)}</${tag}>`).join("");
  const body = rows.map((row) => `<tr>${cells("td", row)}</tr>`);
  return `<div class="card scroll"><table class="wide"><tr>${cells("th", head)}</tr>${body.join("\n")}</table></div>`;
}

export const notes = (lines: readonly string[]): string =>
  lines.length === 0 ? "" : `<div class="notes">${lines.map((line) => `<p>${html(line)}</p>`).join("")}</div>`;
