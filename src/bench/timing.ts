/**
 * @file The clock work: batch sizes by calibration, warm-up, and samples taken from all arms in turn.
 *
 * Arms of one workload are interleaved sample by sample, in an order that rotates, so that a change of the machine's
 * speed meets all of them alike. Each arm has a loop of its own: one shared loop would see many functions at its
 * call site and V8 would no longer inline any.
 */

/** One way of doing a workload. */
export interface Arm {
  readonly framework: string;
  readonly run: () => unknown;
  /** Called before every sample, outside the clock. An arm that has it is timed one call at a time. */
  readonly before?: () => unknown;
}

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

interface Prepared {
  readonly arm: Arm;
  readonly loop: (count: number) => void;
  batch: number;
  readonly samples: number[];
}

/** Nanoseconds per call over one batch. */
function timeBatch(prepared: Prepared, clock: Clock): number {
  prepared.arm.before?.();
  const begin = clock();
  prepared.loop(prepared.batch);
  return (clock() - begin) / prepared.batch;
}

/** Runs until warm, then finds a batch that lasts long enough. */
function calibrate(prepared: Prepared, options: TimingOptions, clock: Clock): void {
  const begin = clock();
  if (prepared.arm.before !== undefined) {
    // One call at a time: a few of them are all the warm-up there is.
    do timeBatch(prepared, clock);
    while (clock() - begin < options.warmUpNs);
    return;
  }
  do {
    const elapsed = timeBatch(prepared, clock) * prepared.batch;
    if (elapsed < options.sampleNs && prepared.batch < MAX_BATCH) prepared.batch *= 2;
  } while (clock() - begin < options.warmUpNs);
  const perCall = Math.max(timeBatch(prepared, clock), 1e-3);
  prepared.batch = Math.min(MAX_BATCH, Math.max(1, Math.ceil(options.sampleNs / perCall)));
}

/** Samples of every arm in nanoseconds per call, by framework. */
export function measure(
  arms: readonly Arm[],
  options: TimingOptions,
  clock: Clock = systemClock,
): Map<string, readonly number[]> {
  const prepared = arms.map((arm): Prepared => ({ arm, loop: ownLoop(arm.run), batch: 1, samples: [] }));
  for (const one of prepared) calibrate(one, options, clock);
  for (let round = 0; round < options.samples; round++) {
    for (let k = 0; k < prepared.length; k++) {
      const one = prepared[(round + k) % prepared.length];
      one?.samples.push(timeBatch(one, clock));
    }
  }
  return new Map(prepared.map((one) => [one.arm.framework, one.samples]));
}
