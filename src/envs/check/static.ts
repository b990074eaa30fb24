/**
 * @file What can be said of a definition before it runs: its parts and its spaces.
 */
import type { Environment } from "../define.ts";
import type { Space } from "../spaces.ts";
import type { Finding } from "./report.ts";

export function checkDefinition(env: Environment): Finding[] {
  const findings: Finding[] = [];
  const add = (problem: string, fix: string): void => void findings.push({ check: "definition", problem, fix });
  if (Object.keys(env.state).length === 0)
    add("the state has no fields", "declare what an episode remembers: state: { x: f32, ... }");
  for (const [name, value] of Object.entries(env.params))
    if (!Number.isFinite(value))
      add(`the parameter "${name}" is ${value}`, "give it a finite number, or leave it out of params");
  return findings;
}

const elements = (limit: number | readonly number[]): readonly number[] =>
  typeof limit === "number" ? [limit] : limit;

function checkSpace(what: "observation" | "action", space: Space): Finding[] {
  const findings: Finding[] = [];
  const add = (problem: string, fix: string): void => void findings.push({ check: "spaces", problem, fix });
  if (what === "action" && space.kind === "discrete" && space.n === 1)
    add("there is one action only: nothing can be chosen", "give discrete(n) with n from 2 on");
  if (what === "action" && space.kind === "multiDiscrete" && space.counts.every((n) => n === 1))
    add("every choice has one value only: nothing can be chosen", "give counts from 2 on");
  if (space.kind !== "box") return findings;
  const [low, high] = [elements(space.low), elements(space.high)];
  if (what === "action" && ![...low, ...high].every(Number.isFinite))
    add(
      "the limits of the actions are not finite: random actions and policies do not know how far they may go",
      "give box(shape, { low, high }) the range that has an effect",
    );
  if (what === "action" && low.length === high.length && low.every((x, k) => x === high[k]))
    add("low and high of the actions are equal: nothing can be chosen", "give a range");
  return findings;
}

export const checkSpaces = (env: Environment): Finding[] => [
  ...checkSpace("observation", env.observation),
  ...checkSpace("action", env.action),
];
