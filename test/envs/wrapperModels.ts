/**
 * @file Small environments, and plain JavaScript models of them and of the wrappers: what compiled wrappers are compared
 * with. A model is an object that steps; wrappers of models are objects around it.
 */
import { defineEnv, type Environment, observationSize } from "../../src/envs/define.ts";
import { box, discrete, multiDiscrete } from "../../src/envs/spaces.ts";
import { f32, i32 } from "../../src/kernel/declare.ts";
import { HostStream } from "../../src/random/index.ts";

const { fround } = Math;

export interface Model {
  reset(rng: HostStream): void;
  step(action: readonly number[], rng: HostStream): { readonly reward: number; readonly terminated: boolean };
  observe(): readonly number[];
}

/** A walk with noise that ends beyond 1; three actions. */
export const Walk = defineEnv({
  id: "Walk",
  params: {},
  state: { x: f32, time: i32 },
  observation: box([1, 2], { low: [-5, 0], high: [5, 1000] }),
  action: discrete(3),
  maxSteps: 9,
  reset(s, { rng }) {
    s.x = rng.uniform(-0.5, 0.5);
    s.time = 0;
  },
  step(s, action, { rng }) {
    s.x += Math.fround(action - 1) * 0.25 + rng.uniform(-0.25, 0.25);
    s.time += 1;
    return { reward: s.x, terminated: s.x > 1 };
  },
  observe(s, obs) {
    obs[0] = s.x;
    obs[1] = Math.fround(s.time);
  },
});
export class WalkModel implements Model {
  x = 0;
  time = 0;
  reset(rng: HostStream): void {
    this.x = rng.uniform(-0.5, 0.5);
    this.time = 0;
  }
  step([action = 0]: readonly number[], rng: HostStream): { reward: number; terminated: boolean } {
    return this.move(fround((action - 1) * 0.25), rng);
  }
  protected move(by: number, rng: HostStream): { reward: number; terminated: boolean } {
    this.x = fround(this.x + fround(by + rng.uniform(-0.25, 0.25)));
    this.time += 1;
    return { reward: this.x, terminated: this.x > 1 };
  }
  observe(): readonly number[] {
    return [this.x, this.time];
  }
}

/** The same with two factors as actions, used as given. */
export const Push = defineEnv({
  id: "Push",
  params: {},
  state: { x: f32, time: i32 },
  observation: box([2], { low: [-9, 0], high: [9, 1000] }),
  action: box([2], { low: [-0.5, 0], high: [0.5, 1] }),
  maxSteps: 9,
  reset(s, { rng }) {
    s.x = rng.uniform(-0.5, 0.5);
    s.time = 0;
  },
  step(s, action, { rng }) {
    s.x += action[0]! * action[1]! + rng.uniform(-0.25, 0.25);
    s.time += 1;
    return { reward: s.x, terminated: s.x > 1 };
  },
  observe(s, obs) {
    obs[0] = s.x;
    obs[1] = Math.fround(s.time);
  },
});
export class PushModel extends WalkModel {
  override step([force = 0, share = 0]: readonly number[], rng: HostStream): { reward: number; terminated: boolean } {
    return this.move(fround(force * share), rng);
  }
}

/** Five cells from 2 on, two choices at once: whether to move, and where to. */
export const Cells = defineEnv({
  id: "Cells",
  params: {},
  state: { cell: i32 },
  observation: discrete(5, 2),
  action: multiDiscrete([2, 3]),
  maxSteps: 6,
  reset(s, { rng }) {
    s.cell = 2 + rng.int(3);
  },
  step(s, action) {
    const way = action[0]! * (action[1]! - 1);
    s.cell = Math.min(Math.max(s.cell + way, 2), 6);
    return { reward: way === 0 ? -2 : 3, terminated: s.cell === 6 };
  },
  observe(s, obs) {
    obs[0] = s.cell;
  },
});
export class CellsModel implements Model {
  cell = 0;
  reset(rng: HostStream): void {
    this.cell = 2 + rng.int(3);
  }
  step([moves = 0, where = 0]: readonly number[]): { reward: number; terminated: boolean } {
    const way = moves * (where - 1);
    this.cell = Math.min(Math.max(this.cell + way, 2), 6);
    return { reward: way === 0 ? -2 : 3, terminated: this.cell === 6 };
  }
  observe(): readonly number[] {
    return [this.cell];
  }
}

/** A picture of bytes: one pixel walks to the right. */
export const Pixel = defineEnv({
  id: "Pixel",
  params: {},
  state: { at: i32 },
  observation: box([2, 3], { dtype: "u8" }),
  action: discrete(2),
  reset(s) {
    s.at = 0;
  },
  step(s, action) {
    s.at += action;
    return { reward: action === 1 ? 1 : 0, terminated: s.at === 5 };
  },
  observe(s, obs) {
    obs.fill(0);
    obs[s.at] = 200;
  },
});
export class PixelModel implements Model {
  at = 0;
  reset(): void {
    this.at = 0;
  }
  step([action = 0]: readonly number[]): { reward: number; terminated: boolean } {
    this.at += action;
    return { reward: action, terminated: this.at === 5 };
  }
  observe(): readonly number[] {
    return Array.from({ length: 6 }, (_, k) => (k === this.at ? 200 : 0));
  }
}

/** Three numbers that are pushed along; `size` of them are shown, some more than once. */
export const makeRing = (size: number) =>
  defineEnv({
    id: `Ring${size}`,
    params: { size },
    state: { ring: f32.array(3) },
    observation: box([size]),
    action: discrete(2),
    maxSteps: 7,
    reset(s, { rng }) {
      for (let k = 0; k < 3; k++) s.ring[k] = rng.uniform();
    },
    step(s, action, { rng }) {
      s.ring[2] = s.ring[1]!;
      s.ring[1] = s.ring[0]!;
      s.ring[0] = action === 1 ? rng.uniform() : 0.5;
      return { reward: s.ring[0]!, terminated: s.ring[0]! > 0.9 };
    },
    observe(s, obs, { params }) {
      for (let k = 0; k < params.size; k++) obs[k] = s.ring[k % 3]!;
    },
  });
export class RingModel implements Model {
  readonly size: number;
  ring: readonly number[] = [];
  constructor(size: number) {
    this.size = size;
  }
  reset(rng: HostStream): void {
    this.ring = [rng.uniform(), rng.uniform(), rng.uniform()];
  }
  step([action = 0]: readonly number[], rng: HostStream): { reward: number; terminated: boolean } {
    const [a = 0, b = 0] = this.ring;
    this.ring = [action === 1 ? rng.uniform() : 0.5, a, b];
    return { reward: this.ring[0] as number, terminated: (this.ring[0] as number) > 0.9 };
  }
  observe(): readonly number[] {
    return Array.from({ length: this.size }, (_, k) => this.ring[k % 3] as number);
  }
}

const within = (x: number, low: number, high: number): number => Math.min(Math.max(x, fround(low)), fround(high));

/** What each wrapper should do, over plain objects. */
export const models = {
  sticky(model: Model, probability: number): Model {
    let last: readonly number[] | undefined;
    return {
      ...bound(model),
      reset(rng) {
        last = undefined;
        model.reset(rng);
      },
      step(action, rng) {
        const again = rng.fold(0x571c4).bernoulli(probability);
        last = again && last ? last : action;
        return model.step(last, rng);
      },
    };
  },
  repeat(model: Model, count: number): Model {
    return {
      ...bound(model),
      step(action, rng) {
        let [reward, terminated] = [0, false];
        for (let k = 0; k < count && !terminated; k++) {
          const one = model.step(action, rng.fold(k));
          reward = fround(reward + fround(one.reward));
          terminated = one.terminated;
        }
        return { reward, terminated };
      },
    };
  },
  clipAction(model: Model, low: readonly number[], high: readonly number[]): Model {
    const clipped = (action: readonly number[]): number[] =>
      action.map((x, k) => within(x, low[k] as number, high[k] as number));
    return { ...bound(model), step: (action, rng) => model.step(clipped(action), rng) };
  },
  reward(model: Model, change: (reward: number) => number): Model {
    return {
      ...bound(model),
      step(action, rng) {
        const { reward, terminated } = model.step(action, rng);
        return { reward: fround(change(reward)), terminated };
      },
    };
  },
  scale: (model: Model, factor: number): Model => models.reward(model, (reward) => reward * fround(factor)),
  clipReward: (model: Model, low: number, high: number): Model =>
    models.reward(model, (reward) => within(reward, low, high)),
  clipObservation(model: Model, low: number, high: number): Model {
    return { ...bound(model), observe: () => model.observe().map((x) => within(x, low, high)) };
  },
  oneHot(model: Model, n: number, start: number): Model {
    const row = (): number[] => Array.from({ length: n }, (_, k) => (k + start === model.observe()[0] ? 1 : 0));
    return { ...bound(model), observe: row };
  },
  stack(model: Model, count: number): Model {
    let frames: (readonly number[])[] = [];
    return {
      reset(rng) {
        model.reset(rng);
        frames = Array.from({ length: count }, () => model.observe());
      },
      step(action, rng) {
        const result = model.step(action, rng);
        frames = [...frames.slice(1), model.observe()];
        return result;
      },
      observe: () => frames.flat(),
    };
  },
};
/** The methods of a model, as properties that can be replaced. */
function bound(model: Model): Model {
  return {
    reset: (rng) => model.reset(rng),
    step: (action, rng) => model.step(action, rng),
    observe: () => model.observe(),
  };
}

/** Everything that steps write, as plain numbers. */
export interface Trace {
  readonly obs: number[][];
  readonly reward: number[][];
  readonly terminated: number[][];
  readonly truncated: number[][];
  /** Final observations of the rows that ended; empty for others. */
  readonly final: number[][][];
}
export const emptyTrace = (): Trace => ({ obs: [], reward: [], terminated: [], truncated: [], final: [] });

/** A vector of models that start over in the same step, with the streams that environments have. */
export function traceOfModels(
  env: Environment,
  make: () => Model,
  n: number,
  seed: number,
  actions: readonly (readonly (readonly number[])[])[],
): Trace {
  const size = observationSize(env.observation);
  const trace = emptyTrace();
  const rows = Array.from({ length: n }, () => ({ model: make(), episode: -1, time: 0, key: new HostStream(0, 0) }));
  const begin = (row: (typeof rows)[number], i: number): void => {
    row.episode += 1;
    row.time = 0;
    const drawn = new HostStream(seed, 0).fold(i);
    const [low, high] = [drawn.bits(), drawn.bits()];
    row.key = new HostStream(low + row.episode, high);
    row.model.reset(row.key);
  };
  rows.forEach(begin);
  const observed = (): number[] => rows.flatMap((row) => row.model.observe());
  trace.obs.push(observed());
  for (const given of actions) {
    const final: number[][] = [];
    const results = rows.map((row, i) => {
      row.time += 1;
      const { reward, terminated } = row.model.step(given[i] as readonly number[], row.key.at(row.time));
      const truncated = row.time >= (env.maxSteps ?? Infinity);
      final.push(terminated || truncated ? [...row.model.observe()] : []);
      if (terminated || truncated) begin(row, i);
      return { reward: fround(reward), terminated, truncated };
    });
    trace.reward.push(results.map((one) => one.reward));
    trace.terminated.push(results.map((one) => Number(one.terminated)));
    trace.truncated.push(results.map((one) => Number(one.truncated)));
    trace.final.push(final);
    trace.obs.push(observed());
  }
  if (trace.obs[0]?.length !== n * size) throw new Error("the model shows another number of numbers");
  return trace;
}
