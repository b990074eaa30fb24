/**
 * @file Files that commands write: pages, charts and, where the package for it is there, their pictures.
 */
import { join } from "node:path";
import { makeFolder, writeWhole } from "../platform/files.ts";
import { PngError, renderPng } from "../platform/png.ts";

/** A line for people, apart from what a command prints. */
export type Say = (line: string) => void;

export const toStderr: Say = (line) => {
  process.stderr.write(`${line}\n`);
};

/** A value as the one JSON document of a command. */
export const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Writes a file whole, as text or bytes. */
export function writeOut(path: string, content: string | Uint8Array): void {
  writeWhole(path, [typeof content === "string" ? new TextEncoder().encode(content) : content]);
}

/** Pixels of a picture for each unit of its drawing. */
const SHARPNESS = 2;

/** The SVG files among some files, drawn as PNG, by name. Without the package there are none, which is said once. */
export async function picturesOf(
  files: ReadonlyMap<string, string>,
  width: number,
  say: Say,
): Promise<Map<string, Uint8Array>> {
  const pictures = new Map<string, Uint8Array>();
  for (const [name, svg] of files) {
    if (!name.endsWith(".svg")) continue;
    try {
      pictures.set(name.replace(/svg$/, "png"), await renderPng(svg, { width: SHARPNESS * width }));
    } catch (error) {
      if (!(error instanceof PngError)) throw error;
      say(`no PNG pictures: ${error.message}`);
      break;
    }
  }
  return pictures;
}

/** Writes files into a folder, which is made; their names in order. */
export function writeAll(folder: string, files: ReadonlyMap<string, string | Uint8Array>): string[] {
  makeFolder(folder);
  for (const [name, content] of files) writeOut(join(folder, name), content);
  return [...files.keys()];
}
