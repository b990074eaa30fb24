/**
 * @file report.html of a run folder, with a picture of the environment where it can be drawn.
 */
import { drawEnvironment } from "../envs/draw/frame.ts";
import { toSvg } from "../envs/draw/svg.ts";
import { VecEnv } from "../envs/vector/vecEnv.ts";
import type { ResolvedEnvironment } from "./environments.ts";
import { reportHtml } from "./report.ts";
import { readRun } from "./runFiles.ts";
import type { RunFolder } from "./runFolder.ts";

/** How the environment looks at the beginning of an episode, as the text of an SVG file. */
export function environmentPicture({ playground }: ResolvedEnvironment): string | undefined {
  if (typeof playground === "function" || playground.draw === undefined) return undefined;
  const vector = new VecEnv(playground, 1, { target: "js" });
  try {
    vector.reset();
    const drawing = drawEnvironment(vector);
    return drawing && toSvg(drawing);
  } finally {
    vector.dispose();
  }
}

/** Writes the report of a run whose other files are there. */
export function writeRunReport(folder: RunFolder, environment: ResolvedEnvironment): void {
  const picture = environmentPicture(environment);
  folder.writeReport(reportHtml(readRun(folder.path, picture === undefined ? {} : { picture })));
}
