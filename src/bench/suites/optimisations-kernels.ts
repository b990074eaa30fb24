/**
 * @file Forms that exist only to be compared: what the suite `optimisations` measures against each other.
 */
import { f32, f64, i32, u8 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";

/** GAE of step-major arrays, one environment after the other: gathered, computed step by step, scattered back. */
export const gatheredGae = kernel(
  {
    rewards: f32.array(),
    values: f32.array(),
    terminated: u8.array(),
    lastValues: f32.array(),
    ownRewards: f32.array(),
    ownValues: f32.array(),
    ownEnds: u8.array(),
    own: f32.array(),
    advantages: f32.array(),
    returns: f32.array(),
    gamma: f32,
    lambda: f32,
  },
  (args) => {
    const { rewards, values, terminated, lastValues, ownRewards, ownValues, ownEnds, own, advantages, returns } = args;
    const { gamma, lambda } = args;
    const steps = own.length;
    const envs = lastValues.length;
    for (let e = 0; e < envs; e++) {
      for (let t = 0; t < steps; t++) {
        ownRewards[t] = rewards[t * envs + e]!;
        ownValues[t] = values[t * envs + e]!;
        ownEnds[t] = terminated[t * envs + e]!;
      }
      let next = lastValues[e]!;
      let advantage = 0;
      for (let k = 0; k < steps; k++) {
        const t = steps - 1 - k;
        const goesOn = ownEnds[t]! > 0 ? 0 : 1;
        advantage = ownRewards[t]! + gamma * next * goesOn - ownValues[t]! + gamma * lambda * goesOn * advantage;
        own[t] = advantage;
        next = ownValues[t]!;
      }
      for (let t = 0; t < steps; t++) {
        advantages[t * envs + e] = own[t]!;
        returns[t * envs + e] = own[t]! + ownValues[t]!;
      }
    }
  },
  { name: "gatheredGae" },
);

const CHAIN = {
  rewards: f64.array(),
  values: f64.array(),
  terminated: u8.array(),
  advantages: f64.array(),
  lastValue: f64,
  gamma: f64,
  lambda: f64,
};

/** GAE of one trajectory with a test in every step for the last one. */
export const branchyGae = kernel(
  CHAIN,
  ({ rewards, values, terminated, advantages, lastValue, gamma, lambda }) => {
    const steps = rewards.length;
    let advantage = 0;
    for (let k = 0; k < steps; k++) {
      const t = steps - 1 - k;
      const next = t === steps - 1 ? lastValue : values[t + 1]!;
      const goesOn = terminated[t]! > 0 ? 0 : 1;
      advantage = rewards[t]! + gamma * next * goesOn - values[t]! + gamma * lambda * goesOn * advantage;
      advantages[t] = advantage;
    }
  },
  { name: "branchyGae" },
);

/** The same with the last step before the loop. */
export const peeledGae = kernel(
  CHAIN,
  ({ rewards, values, terminated, advantages, lastValue, gamma, lambda }) => {
    const last = rewards.length - 1;
    const ends = terminated[last]! > 0 ? 0 : 1;
    let advantage = rewards[last]! + gamma * lastValue * ends - values[last]!;
    advantages[last] = advantage;
    for (let k = 0; k < last; k++) {
      const t = last - 1 - k;
      const goesOn = terminated[t]! > 0 ? 0 : 1;
      advantage = rewards[t]! + gamma * values[t + 1]! * goesOn - values[t]! + gamma * lambda * goesOn * advantage;
      advantages[t] = advantage;
    }
  },
  { name: "peeledGae" },
);

const RATIOS = { logRatios: f32.array(), rho: f32.array(), c: f32.array(), rhoBar: f32, cBar: f32 };

/** Clipped ratios of V-trace, with an exponential for each. */
export const twoExponentials = kernel(
  RATIOS,
  ({ logRatios, rho, c, rhoBar, cBar }, { parallel }) => {
    parallel(logRatios.length, (t) => {
      rho[t] = Math.min(rhoBar, Math.exp(logRatios[t]!));
      c[t] = Math.min(cBar, Math.exp(logRatios[t]!));
    });
  },
  { name: "twoExponentials" },
);

/** The same with one. */
export const oneExponential = kernel(
  RATIOS,
  ({ logRatios, rho, c, rhoBar, cBar }, { parallel }) => {
    parallel(logRatios.length, (t) => {
      const ratio = Math.exp(logRatios[t]!);
      rho[t] = Math.min(rhoBar, ratio);
      c[t] = Math.min(cBar, ratio);
    });
  },
  { name: "oneExponential" },
);

/**
 * Sums of columns of a matrix. Whether threads are used follows from the work that a column is assumed to be: with loops
 * whose counts are not known, which here run once, a few columns are enough, however short they are.
 */
export const sumsByCount = kernel(
  { x: f32.array(), sums: f32.array(), once: i32 },
  ({ x, sums, once }, { parallel }) => {
    const rows = (x.length / sums.length) | 0;
    parallel(sums.length, (c) => {
      let sum = 0;
      for (let i = 0; i < once; i++)
        for (let j = 0; j < once; j++)
          for (let l = 0; l < once; l++) for (let r = 0; r < rows; r++) sum += x[r * sums.length + c]!;
      sums[c] = sum;
    });
  },
  { name: "sumsByCount" },
);

/** The same sums without those loops: a column counts as a few additions, and it takes many to be worth a thread. */
export const sumsByWork = kernel(
  { x: f32.array(), sums: f32.array() },
  ({ x, sums }, { parallel }) => {
    const rows = (x.length / sums.length) | 0;
    parallel(sums.length, (c) => {
      let sum = 0;
      for (let r = 0; r < rows; r++) sum += x[r * sums.length + c]!;
      sums[c] = sum;
    });
  },
  { name: "sumsByWork" },
);

/** Rows of a matrix, by index. */
export const gatherRows = kernel(
  { rows: f32.array(), index: i32.array(), out: f32.array(), width: i32 },
  ({ rows, index, out, width }, { parallel }) => {
    for (let i = 0; i < index.length; i++) {
      const from = index[i]! * width;
      const to = i * width;
      parallel(width, (k) => {
        out[to + k] = rows[from + k]!;
      });
    }
  },
  { name: "gatherRows" },
);

/** The least of all leaves. */
export const leastLeaf = kernel(
  { leaves: f64.array(), least: f64.array(1) },
  ({ leaves, least }, { parallel }) => {
    let most = Infinity;
    parallel(leaves.length, (i) => {
      most = Math.min(most, leaves[i]!);
    });
    least[0] = most;
  },
  { name: "leastLeaf" },
);
