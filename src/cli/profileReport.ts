/**
 * @file A profile as Markdown, as a page, and as plain data, from one description of its sections.
 */
import { columns } from "../charts/index.ts";
import { factsTable, figure, html, page, section, table } from "../train/page.ts";
import type { Measured } from "../train/profile.ts";
import { type Block, type ProfileReport, sectionsOf } from "./profileSections.ts";
import { wrap } from "./text.ts";

const LINE = 80;

const titleOf = ({ algo, env }: Measured): string => `Profile of ${algo} on ${env}`;

function aboutOf({ machine, date, target, threads, numerics, seed }: Measured): [string, string][] {
  const versions = Object.entries(machine.versions).map(([name, version]) =>
    version.startsWith(`${name} `) ? version : `${name} ${version}`,
  );
  return [
    ["runs on", `${target}, ${threads} ${threads === 1 ? "thread" : "threads"}, ${numerics}, seed ${seed}`],
    ["machine", `${machine.cpu}, ${machine.cores} cores, ${machine.os}`],
    ["versions", versions.join(", ")],
    ["date", date],
  ];
}

// Markdown

const cell = (words: string): string => words.replaceAll("|", "\\|");

function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[],
): string {
  const all = [head, ...rows].map((row) => row.map(cell));
  const widths = head.map((_, k) => Math.max(3, ...all.map((row) => row[k]?.length ?? 0)));
  const rule = widths.map((width, k) => (right.includes(k) ? `${"-".repeat(width - 1)}:` : "-".repeat(width)));
  const lines = columns(
    [all[0] as string[], rule, ...all.slice(1)].map((row) => row.flatMap((one) => ["|", one])),
    right.map((k) => 2 * k + 1),
  );
  // One space on each side of a cell is enough: columns() leaves two.
  return lines.map((line) => `${line.replaceAll("  |", " |").replaceAll("|  ", "| ")} |`).join("\n");
}

function markdownBlock(block: Block): string[] {
  switch (block.kind) {
    case "text":
      return [wrap(block.text, LINE)];
    case "list":
      return [block.items.map((item) => wrap(`- ${item}`, LINE, "  ")).join("\n")];
    case "table":
      return [markdownTable(block.head, block.rows, block.right)];
    case "chart":
      return [];
    default:
      return block satisfies never;
  }
}

export function profileMarkdown(report: ProfileReport): string {
  const { measured } = report.facts;
  const about = aboutOf(measured).map(([name, words]) => wrap(`- ${name}: ${words}`, LINE, "  "));
  const parts = sectionsOf(report).flatMap(({ title, blocks }) => [`## ${title}`, ...blocks.flatMap(markdownBlock)]);
  return `${[`# ${titleOf(measured)}`, about.join("\n"), ...parts].join("\n\n")}\n`;
}

// The page

function htmlBlock(block: Block): string {
  switch (block.kind) {
    case "text":
      return `<p>${html(block.text)}</p>`;
    case "list":
      return `<ul>${block.items.map((item) => `<li>${html(item)}</li>`).join("\n")}</ul>`;
    case "table":
      return table(block.head, block.rows, block.right);
    case "chart":
      return figure(block.svg);
    default:
      return block satisfies never;
  }
}

export function profileHtml(report: ProfileReport): string {
  const { measured } = report.facts;
  return page(titleOf(measured), [
    `<h1>${html(titleOf(measured))}</h1>`,
    factsTable(aboutOf(measured)),
    ...sectionsOf(report).map(({ title, blocks }) => section(title, blocks.map(htmlBlock))),
  ]);
}

/** All of it as plain data. */
export function profileJson({ facts, layers, bottlenecks, recommendations }: ProfileReport): object {
  const { phases: _, ...measured } = facts.measured;
  return { ...measured, layers, calls: facts.calls, bottlenecks, recommendations };
}
