/**
 * @file `lockstep profile`: where the time of training goes on this machine, measured, and what could be done about it.
 */
import { join } from "node:path";
import type { Command } from "commander";
import type { EnvironmentOptions } from "./environment.ts";
import { whole } from "./options.ts";
import { asJson, toStderr, writeAll } from "./output.ts";
import { profileHtml, profileJson, profileMarkdown } from "./profileReport.ts";
import { measureProfile } from "./profileRun.ts";
import { profileReport } from "./profileSections.ts";
import { type TrainCommandOptions, trainOptions, withSettings } from "./settings.ts";

const STEPS = 50_000;
const OUT = "profile";

interface ProfileOptions
  extends EnvironmentOptions,
    Pick<
      TrainCommandOptions,
      "envs" | "seed" | "target" | "threads" | "numerics" | "preset" | "set" | "config" | "tuned"
    > {
  readonly steps: number;
  readonly kernels: boolean;
  readonly out: string;
  readonly json?: boolean;
}

async function profile(algo: string, env: string, options: ProfileOptions): Promise<void> {
  const { out, json, kernels, ...given } = options;
  const { made } = await trainOptions(algo, env, { ...given, save: false });
  const report = profileReport(await measureProfile(made, { kernels }, toStderr));
  const markdown = profileMarkdown(report);
  const document = asJson(profileJson(report));
  const files = new Map([
    ["profile.md", markdown],
    ["profile.html", profileHtml(report)],
    ["profile.json", document],
  ]);
  for (const name of writeAll(out, files)) toStderr(`wrote ${join(out, name)}`);
  process.stdout.write(json ? document : markdown);
}

export function addProfile(program: Command): void {
  const command = program
    .command("profile")
    .description("where the time of training goes: phases, calls, kernels, and what to do about it")
    .argument("<algo>", "ppo, a2c: see lockstep algos")
    .argument("<env>", "an id (see lockstep envs), or a file that exports an environment")
    .option("--steps <n>", "environment steps of each run", whole(1, Number.MAX_SAFE_INTEGER), STEPS)
    .option("--envs <n>", "environments side by side", whole(1, 1_000_000))
    .option("--seed <n>", "what all random numbers follow from", whole(0, 0xffff_ffff));
  withSettings(command)
    .option("--no-kernels", "do not time kernels one by one, which compiles each of them")
    .option("--out <folder>", "where profile.md, profile.html and profile.json are written", OUT)
    .option("--json", "print the result as one JSON document")
    .action(profile);
}
