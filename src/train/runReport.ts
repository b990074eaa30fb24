/**
 * @file report.html of a run folder, with a picture of the environment where it can be drawn.
 */
import { drawEnvironment } from "../envs/draw/frame.ts";
import { toSvg } from "../envs/draw/svg.ts";
import { VecEnv, type VecEnvOptions } from "../envs/vector/vecEnv.ts";
import type { ResolvedEnvironment } from "./environments.ts";
import { reportHtml } from "./report.ts";
import { readRun } from "./runFiles.ts";
import type { RunFolder } from "./runFolder.ts";

type Where = Pick<VecEnvOptions, "target" | "threads">;

/** How the environment looks at the beginning of an episode, as the text of an SVG file. */
export function environmentPicture(
  { playground }: ResolvedEnvironment,
  where: Where = { target: "js" },
): string | undefined {
  if (typeof playground === "function" || playground.draw === undefined) return undefined;
  const vector = new VecEnv(playground, 1, where);
  try {
    vector.reset();
    const drawing = drawEnvironment(vector);
    return drawing && toSvg(drawing);
  } finally {
    vector.dispose();
  }
}

/** Writes the report of a run whose other files are there; `where`: for what its environment is compiled already. */
export function writeRunReport(folder: RunFolder, environment: ResolvedEnvironment, where?: Where): void {
  const picture = environmentPicture(environment, where);
  folder.writeReport(reportHtml(readRun(folder.path, picture === undefined ? {} : { picture })));
}
