/**
 * @file The clock work: batch sizes by calibration, warm-up, and samples taken from all arms in turn.
 *
 * Arms of one workload are interleaved sample by sample, in an order that rotates, so that a change of the machine's
 * speed meets all of them alike; peers in other processes take their turns as well, and nothing else runs meanwhile.
 * Each arm has a loop of its own: one shared loop would see many functions at its call site and V8 would no longer
 * inline any.
 */

/** One way of doing a workload, in this process. */
export interface LocalArm {
  readonly framework: string;
  readonly run: () => unknown;
  /** Called before every sample, outside the clock. An arm that has it is timed one call at a time. */
  readonly before?: () => unknown;
}
/** One that runs in another process, with a clock of its own. */
export interface RemoteArm {
  readonly framework: string;
  /** Nanoseconds that so many calls take together. */
  time(calls: number): Promise<number>;
  /** Nanoseconds of each of so many calls. */
  timeEach(calls: number): Promise<readonly number[]>;
  /** Where fewer samples than of the others have to do. */
  readonly samples?: number;
}
export type Arm = LocalArm | RemoteArm;

export interface TimingOptions {
  /** Samples per arm. */
  readonly samples: number;
  /** A batch of calls lasts at least this long. */
  readonly sampleNs: number;
  /** Each arm runs this long before it is timed. */
  readonly warmUpNs: number;
}

export const FULL: TimingOptions = { samples: 41, sampleNs: 3e6, warmUpNs: 150e6 };
export const QUICK: TimingOptions = { samples: 11, sampleNs: 1e6, warmUpNs: 40e6 };

/** Nanoseconds from some start. */
export type Clock = () => number;
const systemClock: Clock = () => performance.now() * 1e6;

const MAX_BATCH = 1 << 24;

/** A loop that calls `run` and belongs to it alone. */
function ownLoop(run: () => unknown): (count: number) => void {
  const make = new Function("run", "return (count) => { for (let i = 0; i < count; i++) run(); };");
  return make(run) as (count: number) => void;
}

/** Nanoseconds for a number of calls: at once where they run here. */
type Timer = (calls: number) => number | Promise<number>;

interface Prepared {
  readonly framework: string;
  readonly time: Timer;
  /** One call per sample. */
  readonly single: boolean;
  readonly wanted: number;
  batch: number;
  readonly samples: number[];
}

function localTimer({ run, before }: LocalArm, clock: Clock): Timer {
  const loop = ownLoop(run);
  return (calls) => {
    before?.();
    const begin = clock();
    loop(calls);
    return clock() - begin;
  };
}

function prepare(arm: Arm, options: TimingOptions, clock: Clock): Prepared {
  const { framework } = arm;
  const common = { framework, batch: 1, samples: [] };
  if ("run" in arm)
    return { ...common, time: localTimer(arm, clock), single: arm.before !== undefined, wanted: options.samples };
  const wanted = Math.min(options.samples, arm.samples ?? options.samples);
  return { ...common, time: (calls) => arm.time(calls), single: false, wanted };
}

/** Runs until warm, then finds a batch that lasts long enough. */
async function calibrate(one: Prepared, options: TimingOptions, clock: Clock): Promise<void> {
  const begin = clock();
  do {
    const elapsed = await one.time(one.batch);
    // One call at a time: a few of them are all the warm-up there is.
    if (!one.single && elapsed < options.sampleNs && one.batch < MAX_BATCH) one.batch *= 2;
  } while (clock() - begin < options.warmUpNs);
  if (one.single) return;
  const perCall = Math.max((await one.time(one.batch)) / one.batch, 1e-3);
  one.batch = Math.min(MAX_BATCH, Math.max(1, Math.ceil(options.sampleNs / perCall)));
}

/** Samples of every arm in nanoseconds per call, by framework. */
export async function measure(
  arms: readonly Arm[],
  options: TimingOptions,
  clock: Clock = systemClock,
): Promise<Map<string, readonly number[]>> {
  const prepared = arms.map((arm) => prepare(arm, options, clock));
  for (const one of prepared) await calibrate(one, options, clock);
  return takeTurns(prepared, options.samples);
}

/** The same for work that takes seconds: so many rounds of one call each, without warm-up. */
export function measureTurns(
  arms: readonly Arm[],
  rounds: number,
  clock: Clock = systemClock,
): Promise<Map<string, readonly number[]>> {
  const options = { samples: rounds, sampleNs: 0, warmUpNs: 0 };
  return takeTurns(
    arms.map((arm) => prepare(arm, options, clock)),
    rounds,
  );
}

/** Rounds of one sample of each, in an order that rotates. */
async function takeTurns(prepared: readonly Prepared[], rounds: number): Promise<Map<string, readonly number[]>> {
  for (let round = 0; round < rounds; round++) {
    for (let k = 0; k < prepared.length; k++) {
      const one = prepared[(round + k) % prepared.length] as Prepared;
      if (one.samples.length < one.wanted) one.samples.push((await one.time(one.batch)) / one.batch);
    }
  }
  return new Map(prepared.map((one) => [one.framework, one.samples]));
}

/** Nanoseconds of each of so many calls in this process. */
function timeEach(run: () => unknown, calls: number, clock: Clock): number[] {
  const found: number[] = [];
  for (let k = 0; k < calls; k++) {
    const begin = clock();
    run();
    found.push(clock() - begin);
  }
  return found;
}

const LATENCY_ROUNDS = 20;

/** Every single call timed, `calls` of each arm, in rounds of all arms; by framework. */
export async function measureEach(
  arms: readonly Arm[],
  calls: number,
  clock: Clock = systemClock,
): Promise<Map<string, readonly number[]>> {
  const found = new Map(arms.map((arm): [string, number[]] => [arm.framework, []]));
  const share = Math.ceil(calls / LATENCY_ROUNDS);
  // The first round warms up and is not kept.
  for (let round = -1; round < LATENCY_ROUNDS; round++) {
    for (const arm of arms) {
      const ns = "run" in arm ? timeEach(arm.run, share, clock) : await arm.timeEach(share);
      if (round >= 0) found.get(arm.framework)?.push(...ns);
    }
  }
  return found;
}
