/**
 * @file `lockstep envs`: all environments in a table, or one in detail with a drawing.
 */
import type { Command } from "commander";
import type { Environment } from "../envs/define.ts";
import { drawEnvironment } from "../envs/draw/frame.ts";
import { toTerminal } from "../envs/draw/terminal.ts";
import { type EnvironmentOutline, environmentOutlines } from "../envs/registry.ts";
import { describeSpace, type Space, sample } from "../envs/spaces.ts";
import { VecEnv } from "../envs/vector/vecEnv.ts";
import { HostStream } from "../random/index.ts";
import { type EnvironmentOptions, loadEnvironment } from "./environment.ts";
import { actionNames } from "./keys.ts";
import { asJson } from "./output.ts";
import { columns, hasColours, type Style, styleFor, wrap } from "./text.ts";

const LINE = 80;
/** Steps after which an environment is drawn: something has happened by then. */
const SHOWN_AFTER = 12;

/** A space in a few characters: what is not told apart in a table is told in the details. */
function brief(space: Space): string {
  switch (space.kind) {
    case "box":
      return space.shape.join("x");
    case "discrete":
      return `1 of ${space.n}`;
    case "multiDiscrete":
      return space.counts.map((n) => `1 of ${n}`).join(", ");
    default:
      return describeSpace(space);
  }
}

/** The words of solving that fit a table. */
function briefSolved(solved: string | undefined): string {
  const [first = ""] = (solved ?? "").split(/[:,]/);
  return first
    .replace(/^a mean return of (\S+)( over 100 episodes)?$/, "mean return $1")
    .replace(/^a return of (\S+) in every episode$/, "return $1 every time")
    .replace(/^the last reward is (\S+) in every episode$/, "last reward $1 always")
    .replace(/^there is nothing to learn$/, "nothing to learn")
    .replace(/^no bar is set; trained agents reach a mean return of about (\S+)$/, "no bar; trained: $1")
    .replace(/^no bar is set;.*$/, "no bar");
}

export function table(outlines: readonly EnvironmentOutline[], style: Style): string {
  const head = ["id", "observation", "actions", "length", "solved"];
  const rows = outlines.map((env) => [
    env.id,
    brief(env.observation),
    brief(env.action),
    String(env.maxSteps ?? "-"),
    briefSolved(env.solved),
  ]);
  const [first = "", ...lines] = columns([head, ...rows], [3]);
  const notes = [
    "observation: a shape, or 1 of so many; actions: 1 of so many, or how many numbers;",
    "length: steps after which an episode is truncated; mean returns are over 100 episodes.",
  ].join(" ");
  const more = "lockstep envs <id> shows one in detail, lockstep play <id> plays it.";
  return `${[style.bold(first), ...lines, "", style.dim(wrap(notes, LINE)), more].join("\n")}\n`;
}

/** Infinity has no place in JSON. */
const finite = (given: number | readonly number[]): unknown =>
  typeof given === "number"
    ? Number.isFinite(given)
      ? given
      : null
    : given.map((x) => (Number.isFinite(x) ? x : null));

function spaceFacts(space: Space): object {
  if (space.kind !== "box") return space;
  return { ...space, low: finite(space.low), high: finite(space.high) };
}
function facts(env: EnvironmentOutline): object {
  const { id, maxSteps, solved, needs } = env;
  return {
    id,
    observation: spaceFacts(env.observation),
    action: spaceFacts(env.action),
    max_steps: maxSteps ?? null,
    solved: solved ?? null,
    ...(needs === undefined ? {} : { needs }),
  };
}
function detailedFacts(env: Environment): object {
  const state = Object.fromEntries(Object.entries(env.state).map(([name, field]) => [name, describeField(field)]));
  return { ...facts(env), params: env.params, state, action_names: actionNames(env.id) ?? null };
}

function describeField(field: Environment["state"][string]): string {
  switch (field.kind) {
    case "scalar":
      return String(field.dtype);
    case "array":
      return `${(field.element as { dtype: string }).dtype} x ${field.length}`;
    default:
      return "record";
  }
}

/** An environment after a few random steps. */
function exampleVec(env: Environment): VecEnv {
  const vec = new VecEnv(env, 1, { seed: 1, target: "js" });
  const stream = new HostStream(1, 0);
  vec.reset();
  for (let step = 0; step < SHOWN_AFTER; step++) {
    const action = sample(env.action, stream);
    vec.step(typeof action === "number" ? [action] : action);
  }
  return vec;
}

const rangeOf = (space: Space): string => {
  if (space.kind !== "box") return "";
  const [low, high] = [[space.low].flat(), [space.high].flat()];
  if (![...low, ...high].some(Number.isFinite)) return "";
  const written = (values: readonly number[]): string =>
    values.map((x) => String(Number(x.toPrecision(6))).replace("Infinity", "∞")).join(", ");
  return `, from ${written(low)} to ${written(high)}`;
};

function details(env: Environment, style: Style, colour: boolean): string {
  const names = actionNames(env.id);
  const about: [string, string][] = [
    ["observation", `${describeSpace(env.observation)}${rangeOf(env.observation)}`],
    ["action", `${describeSpace(env.action)}${rangeOf(env.action)}${names ? `: ${names.join(", ")}` : ""}`],
    ["length", env.maxSteps === undefined ? "no limit" : `${env.maxSteps} steps at most`],
    ["solved", env.solved ?? "not said"],
    [
      "state",
      Object.entries(env.state)
        .map(([name, field]) => `${name} ${describeField(field)}`)
        .join(", "),
    ],
  ];
  const indent = " ".repeat(13);
  const lines = about.map(
    ([name, text]) => `${name.padEnd(13)}${wrap(text, LINE - 13).replaceAll("\n", `\n${indent}`)}`,
  );
  const params = Object.entries(env.params).map(([name, value]) => [`  ${name}`, String(Number(value.toPrecision(8)))]);
  const vec = exampleVec(env);
  const drawing = drawEnvironment(vec);
  vec.dispose();
  return `${[
    style.bold(env.id),
    ...lines,
    ...(params.length > 0 ? ["", style.bold("parameters"), ...columns(params, [1])] : []),
    ...(drawing ? ["", toTerminal(drawing, { width: 60, height: 20, colour })] : []),
    "",
    `new VecEnv(environment("${env.id}"), 512)`,
    `lockstep play ${env.id} --keys`,
  ].join("\n")}\n`;
}

interface EnvsOptions extends EnvironmentOptions {
  readonly json?: boolean;
}

export async function envs(what: string | undefined, options: EnvsOptions): Promise<string> {
  const style = styleFor(process.stdout);
  if (what === undefined)
    return options.json ? asJson(environmentOutlines.map(facts)) : table(environmentOutlines, style);
  const outline = environmentOutlines.find((one) => one.id === what && one.needs !== undefined);
  if (outline && options.data === undefined)
    return options.json
      ? asJson(facts(outline))
      : `${wrap(`${outline.id} needs ${outline.needs}; or --data <folder>.`, LINE)}\n`;
  const env = await loadEnvironment(what, options);
  return options.json ? asJson(detailedFacts(env)) : details(env, style, hasColours(process.stdout));
}

export function addEnvs(program: Command): void {
  program
    .command("envs")
    .description("all environments, or one in detail")
    .argument("[env]", "an id, or a file that exports an environment")
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite")
    .option("--json", "print the result as one JSON document")
    .action(async (what: string | undefined, options: EnvsOptions) => {
      process.stdout.write(await envs(what, options));
    });
}
