/**
 * @file Recommendations of a profile: a table of rules. A rule looks at measured facts; where it applies it says how
 * much it matters and the figure that led to it, and its advice is given.
 */
import { formatShare, formatValue } from "../charts/index.ts";
import { type Facts, LAYER_TITLES, SMALL_KERNEL_US } from "./profile.ts";

export const PRIORITIES = ["High", "Medium", "Low"] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface Recommendation {
  readonly priority: Priority;
  /** The measured figure that led to it. */
  readonly finding: string;
  readonly advice: string;
}

interface Rule {
  /** How much it matters and what was measured; undefined where the rule does not apply. */
  readonly look: (facts: Facts) => readonly [Priority, string] | undefined;
  readonly advice: (facts: Facts) => string;
}

/** From which share on a layer matters much, and somewhat. */
const LIMITS = {
  environment: [0.5, 0.25],
  policy: [0.5, 0.3],
  update: [0.6, 0.6],
  other: [0.3, 0.15],
  gae: [1, 0.1],
} as const;
type LimitedLayer = keyof typeof LIMITS;

const shareText = ({ share }: Facts, layer: LimitedLayer): string =>
  `${LAYER_TITLES[layer]} takes ${formatShare(share[layer])} of the time of iterations`;

/** A layer above its limits, as a finding with what else was measured. */
function above(facts: Facts, layer: LimitedLayer, more = ""): readonly [Priority, string] | undefined {
  const share = facts.share[layer];
  const [high, medium] = LIMITS[layer];
  if (share <= medium) return undefined;
  return [share > high ? "High" : "Medium", shareText(facts, layer) + more];
}

/** Rows of a minibatch from which on larger ones help little. */
const LARGE_BATCH = 512;
const FEW_EPOCHS = 4;
const MANY_SMALL = 0.15;
const OF_INIT = 1;

const RULES: readonly Rule[] = [
  {
    look: ({ measured: { target, best_target } }) =>
      target === best_target ? undefined : ["High", `programs ran on ${target}; ${best_target} works here, too`],
    advice: ({ measured }) => `leave --target out: ${measured.best_target} is taken then`,
  },
  {
    look: ({ measured: { target, best_target } }) =>
      target === "native" || target !== best_target
        ? undefined
        : ["Medium", `native code does not work here, ${target} was used`],
    advice: () => "lockstep doctor says what native code needs: a C compiler and the package koffi",
  },
  {
    look: (facts) =>
      facts.measured.whole === null
        ? [
            facts.share.environment > LIMITS.environment[1] ? "High" : "Medium",
            `environments are JavaScript objects, with ${facts.calls.split} calls of compiled code in an iteration; ` +
              shareText(facts, "environment"),
          ]
        : undefined,
    advice: () => "write the environment with defineEnv: it is compiled into the iteration, which is one call then",
  },
  {
    look: (facts) => (facts.measured.whole === null ? undefined : above(facts, "environment", ofEnvironments(facts))),
    advice: () => "step more environments at once (--envs), or give more threads (--threads) where cores are free",
  },
  {
    look: (facts) => above(facts, "policy", ofEnvironments(facts)),
    advice: () =>
      "more environments and fewer steps (--envs, --set nSteps=...): the same rollout in fewer, larger passes",
  },
  {
    look: (facts) => {
      const { batch_size, n_envs, n_steps } = facts.measured.settings;
      if (batch_size >= LARGE_BATCH || batch_size >= n_envs * n_steps) return undefined;
      return above(facts, "update", `, in minibatches of ${batch_size} rows`);
    },
    advice: () =>
      "larger minibatches (--set batchSize=...): fewer gradient steps, and products that keep the units busy",
  },
  {
    look: (facts) => {
      const { threads, machine } = facts.measured;
      if (threads >= machine.cores || !above(facts, "update")) return undefined;
      return ["Medium", `${shareText(facts, "update")}, on ${threads} of ${machine.cores} cores`];
    },
    advice: ({ measured }) => `more threads (--threads ${measured.machine.cores}): the numbers stay the same`,
  },
  {
    look: (facts) => {
      const { epochs } = facts.measured.settings;
      if (epochs <= FEW_EPOCHS || !above(facts, "update")) return undefined;
      return ["Medium", `${shareText(facts, "update")}, in ${epochs} epochs`];
    },
    advice: () => "fewer epochs (--set nEpochs=...), where learning does not suffer: compare runs to see",
  },
  {
    look: ({ smallKernels }) =>
      smallKernels > MANY_SMALL
        ? [
            "Medium",
            `kernels of less than ${SMALL_KERNEL_US} us a run take ${formatShare(smallKernels)} of the time of kernels`,
          ]
        : undefined,
    advice: () => "give each kernel more to do: more environments at once, larger minibatches, one thread",
  },
  {
    look: (facts) => {
      const { whole, split } = facts.measured;
      const times = whole
        ? `; the iteration takes ${ms(split.iteration_ms)} in phases, ${ms(whole.iteration_ms)} whole`
        : "";
      return above(facts, "other", times);
    },
    advice: ({ measured }) =>
      measured.settings.normalised
        ? "a part of it are the normalisers (normalizeObs, normalizeReward): leave off what is not needed"
        : "most of it are calls between phases, which the whole iteration does not have: nothing to do",
  },
  {
    look: (facts) => {
      const found = above(facts, "gae");
      return found && ["Low", found[1]];
    },
    advice: () =>
      "most of it are values of last observations: --set bootstrap=never leaves them out, where episodes that a " +
      "limit of steps cuts off may count as ended",
  },
  {
    look: ({ measured: { whole, split } }) => {
      const { init_s, train_s } = whole ?? split;
      if (init_s <= OF_INIT * train_s) return undefined;
      return ["Medium", `making and compiling took ${seconds(init_s)}, training ${seconds(train_s)}`];
    },
    advice: ({ measured: { target } }) =>
      target === "native"
        ? "compiled code is kept: a second run of the same kind begins at once"
        : "longer runs; and native code, which is kept once it is compiled, begins at once in later runs",
  },
];

const ms = (value: number): string => `${formatValue(value)} ms`;
const seconds = (value: number): string => `${formatValue(value)} s`;
const ofEnvironments = ({ measured }: Facts): string => `, with ${measured.settings.n_envs} environments at once`;

/** What the rules say, what matters most first. There is always something: also that nothing stands out. */
export function recommendationsFor(facts: Facts): Recommendation[] {
  const found = RULES.flatMap(({ look, advice }): Recommendation[] => {
    const seen = look(facts);
    return seen ? [{ priority: seen[0], finding: seen[1], advice: advice(facts) }] : [];
  });
  if (found.length === 0) return [nothing(facts)];
  return PRIORITIES.flatMap((priority) => found.filter((one) => one.priority === priority));
}

function nothing({ share }: Facts): Recommendation {
  const largest = (Object.keys(LIMITS) as LimitedLayer[]).reduce((a, b) => (share[b] > share[a] ? b : a));
  return {
    priority: "Low",
    finding: `no layer stands out: the largest, ${LAYER_TITLES[largest]}, takes ${formatShare(share[largest])}`,
    advice: "the settings suit this machine: nothing to do",
  };
}
