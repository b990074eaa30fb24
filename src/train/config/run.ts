/**
 * @file What every run is told, whatever the algorithm: what to train on, how long, where it runs, what it keeps.
 */
import * as z from "zod";

/** Names become folders: no separators, nothing that leads elsewhere, nothing that a shell would have to quote. */
const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._+=@-]{0,119}$/;

export const runConfigSchema = z.strictObject({
  algo: z.string().min(1).describe("the algorithm"),
  env: z.string().min(1).describe("an environment: its id, or a file that exports one"),
  preset: z.string().min(1).nullable().default(null).describe("whose conventions and defaults to begin with"),
  steps: z.int().positive().default(100_000).describe("environment steps of the whole run"),
  seed: z.int().min(0).max(0xffff_ffff).default(1).describe("what all random numbers follow from"),
  target: z.enum(["auto", "js", "wasm", "native"]).default("auto").describe("what the programs are compiled to"),
  threads: z.int().min(1).max(256).nullable().default(null).describe("threads; null for one per core"),
  numerics: z
    .enum(["auto", "fused", "unfused"])
    .default("auto")
    .describe("whether products and sums round once; auto: as the target does"),
  evalEvery: z.int().min(0).default(25_000).describe("steps between evaluations; 0 for the one at the end only"),
  evalEpisodes: z.int().positive().max(100_000).default(10).describe("episodes of an evaluation"),
  checkpointEvery: z.int().min(0).default(50_000).describe("steps between checkpoints; 0 for the one at the end only"),
  keepCheckpoints: z.int().positive().max(10_000).default(3).describe("how many of the last checkpoints are kept"),
  out: z.string().min(1).default("runs").describe("the folder that run folders are made in"),
  name: z
    .string()
    .regex(FOLDER_NAME, { error: "a name for a folder: letters, digits and . _ + = @ -" })
    .nullable()
    .default(null)
    .describe("the name of the run folder; null for one made of algorithm, environment and seed"),
});
export type RunConfig = z.output<typeof runConfigSchema>;
