/**
 * @file SVG pictures as PNG files, drawn by @resvg/resvg-js: an optional package, reached at run time, so that this file
 * loads where it is missing. Text is set in the fonts of the system.
 */
import { importModule } from "./bundle.ts";
import { LockstepError } from "./errors.ts";

/** A picture cannot be drawn: the package is missing, or what it was given is no SVG. */
export class PngError extends LockstepError {
  override readonly name = "PngError";
}

/** The part of the package that is used here. */
interface Resvg {
  readonly Resvg: new (
    svg: string,
    options: {
      readonly fitTo: { readonly mode: "original" } | { readonly mode: "width"; readonly value: number };
      readonly font: { readonly loadSystemFonts: boolean; readonly defaultFontFamily: string };
    },
  ) => { render(): { asPng(): Uint8Array } };
}

const PACKAGE = "@resvg/resvg-js";
const WIDEST = 16_384;
/** A plain font that systems have; the package looks no further than the first name of a list of fonts. */
const FONTS: { readonly [platform: string]: string } = { darwin: "Helvetica", win32: "Arial" };
const FONT_ELSEWHERE = "DejaVu Sans";

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";

async function load(name: string): Promise<Resvg> {
  try {
    return (await importModule(name)) as Resvg;
  } catch (error) {
    throw new PngError(
      `PNG pictures need the package ${name}, which cannot be loaded (${firstLine(error)}); ` +
        `install it with: npm install ${name}. SVG files hold the same pictures`,
    );
  }
}

export interface PngOptions {
  /** Width in pixels; that of the picture itself unless given. */
  readonly width?: number;
}

/** The bytes of a PNG file. */
export async function renderPng(svg: string, options: PngOptions = {}, from = PACKAGE): Promise<Uint8Array> {
  const { width } = options;
  if (width !== undefined && !(Number.isInteger(width) && width >= 1 && width <= WIDEST)) {
    throw new PngError(`width is ${width}; it must be a whole number of pixels from 1 to ${WIDEST}`);
  }
  const { Resvg } = await load(from);
  const fitTo = width === undefined ? ({ mode: "original" } as const) : ({ mode: "width", value: width } as const);
  const font = {
    loadSystemFonts: true,
    defaultFontFamily: FONTS[globalThis.process?.platform ?? ""] ?? FONT_ELSEWHERE,
  };
  try {
    return new Uint8Array(new Resvg(svg, { fitTo, font }).render().asPng());
  } catch (error) {
    throw new PngError(`the picture cannot be drawn as PNG: ${firstLine(error)}`);
  }
}
