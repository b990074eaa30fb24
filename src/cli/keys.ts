/**
 * @file What actions are called, and the keys that stand for them.
 */
import type { ActionSpace } from "../envs/define.ts";
import type { EnvironmentId } from "../envs/registry.ts";

const NAMES: { readonly [I in EnvironmentId]?: readonly string[] } = {
  "CartPole-v1": ["left", "right"],
  NonStationaryCartPole: ["left", "right"],
  "Acrobot-v1": ["left", "stay", "right"],
  "MountainCar-v0": ["left", "stay", "right"],
  "Catch-bsuite": ["left", "stay", "right"],
  "DeepSea-bsuite": ["left", "right"],
  "UmbrellaChain-bsuite": ["without", "with"],
  "FourRooms-misc": ["up", "right", "down", "left"],
  "FrozenLake-misc": ["left", "down", "right", "up"],
  "MetaMaze-misc": ["up", "right", "down", "left"],
  "Pong-misc": ["stay", "up", "down"],
  "Asterix-MinAtar": ["stay", "left", "up", "right", "down"],
  "Breakout-MinAtar": ["stay", "left", "right"],
  "Freeway-MinAtar": ["stay", "up", "down"],
  "Seaquest-MinAtar": ["stay", "left", "up", "right", "down", "fire"],
  "SpaceInvaders-MinAtar": ["stay", "left", "right", "fire"],
};
/** Names of the actions of a known environment, in order. */
export const actionNames = (id: string): readonly string[] | undefined => NAMES[id as EnvironmentId];

const DIRECTIONS: { readonly [sequence: string]: string } = {
  "\u001b[A": "up",
  "\u001b[B": "down",
  "\u001b[C": "right",
  "\u001b[D": "left",
  " ": "fire",
  ".": "stay",
};
const SYMBOLS: { readonly [name: string]: string } = {
  left: "←",
  right: "→",
  up: "↑",
  down: "↓",
  fire: "space",
  stay: ".",
};
const DIGITS = "0123456789abcdefghijklmnop";

/** The keys in what a terminal sent: several can come at once, and an arrow is a sequence of three. */
export function keysIn(text: string): string[] {
  const keys: string[] = [];
  for (let at = 0; at < text.length; at += keys.at(-1)?.length ?? 1) {
    const sequence = text.slice(at, at + 3);
    keys.push(sequence in DIRECTIONS ? sequence : text.charAt(at));
  }
  return keys;
}

/** Keys and the actions they stand for, and a line that says which. */
export interface Keys {
  action(key: string): readonly number[] | undefined;
  readonly help: string;
}

const limit = (given: number | readonly number[], k: number, other: number): number => {
  const value = typeof given === "number" ? given : (given[k] ?? other);
  return Number.isFinite(value) ? value : other;
};

/** Keys for a row of numbers: left and right push the first to its limits, up and down the second. */
function boxKeys(space: Extract<ActionSpace, { kind: "box" }>, size: number): Keys {
  const pushed = (k: number, high: boolean): number[] =>
    Array.from({ length: size }, (_, at) =>
      at !== k ? 0 : high ? limit(space.high, at, 1) : limit(space.low, at, -1),
    );
  const table: { [name: string]: number[] } = {
    left: pushed(0, false),
    right: pushed(0, true),
    stay: pushed(-1, true),
  };
  if (size > 1) Object.assign(table, { down: pushed(1, false), up: pushed(1, true) });
  return {
    action: (key) => table[DIRECTIONS[key] ?? ""],
    help: Object.entries(table)
      .map(([name, row]) => `${SYMBOLS[name]} ${row.map((x) => Number(x.toPrecision(3))).join(",")}`)
      .join("  "),
  };
}

/** Keys for one choice: digits, and arrows where the actions have names for them. */
function choiceKeys(id: string, n: number, start: number): Keys {
  const names = actionNames(id);
  const shown = Math.min(n, DIGITS.length);
  const parts = Array.from({ length: shown }, (_, k) => {
    const [digit, name] = [DIGITS[k], names?.[k]];
    const symbol = name === undefined ? undefined : SYMBOLS[name];
    return symbol === undefined ? `${digit}${name === undefined ? "" : ` ${name}`}` : `${symbol} ${name}`;
  });
  return {
    action: (key) => {
      const named = names?.indexOf(DIRECTIONS[key] ?? "") ?? -1;
      const at = named >= 0 ? named : key.length === 1 ? DIGITS.indexOf(key) : -1;
      return at >= 0 && at < n ? [start + at] : undefined;
    },
    help: names === undefined ? `0 to ${DIGITS[shown - 1]} choose an action` : parts.join("  "),
  };
}

/** Keys for several choices at once: one digit after the other, until all are given. */
function severalKeys(counts: readonly number[]): Keys {
  let given: number[] = [];
  return {
    action: (key) => {
      const at = key.length === 1 ? DIGITS.indexOf(key) : -1;
      if (at < 0 || at >= (counts[given.length] ?? 0)) return undefined;
      given.push(at);
      if (given.length < counts.length) return undefined;
      const row = given;
      given = [];
      return row;
    },
    help: `${counts.length} digits choose an action`,
  };
}

export function keysFor(id: string, space: ActionSpace): Keys {
  switch (space.kind) {
    case "discrete":
      return choiceKeys(id, space.n, space.start);
    case "multiDiscrete":
      return severalKeys(space.counts);
    case "box":
      return boxKeys(
        space,
        space.shape.reduce((a, b) => a * b, 1),
      );
    default:
      return space satisfies never;
  }
}
