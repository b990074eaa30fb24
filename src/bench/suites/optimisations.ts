/**
 * @file The suite `optimisations`: a plan of thirteen improvements to a reinforcement-learning library, each measured
 * here as before and after. Where an item does not pay, its comparison says so.
 */
import { LockstepError } from "../../platform/errors.ts";
import { medianOf, type Recorder, type Suite } from "../suite.ts";
import { ENVIRONMENT_ITEMS } from "./optimisations-environments.ts";
import { type Forms, ITEMS, type Item } from "./optimisations-items.ts";
import { SAMPLING_PARAMS, samplingElsewhere } from "./optimisations-sampling.ts";

/** A ratio below this is within what a run differs from the next. */
const PAYS = 1.05;

/** What has no counterpart here yet. */
const NOT_YET: readonly (readonly [what: string, reason: string])[] = [
  ["P1 batched GAE in the collector", "not yet: comes with the asynchronous collector"],
  ["P13 reused current observation", "not yet: comes with the asynchronous collector"],
];

async function measureItem(recorder: Recorder, item: Omit<Item, "make">, forms: Forms): Promise<void> {
  const { before, after, gate } = forms;
  const name = `${item.id} ${item.what}`;
  before();
  after();
  const arms = [
    { framework: "before", run: before },
    { framework: "after", run: after },
  ];
  const { params, items } = item;
  const samples = await recorder.workload({ name, category: "optimisations", params, items, arms, gate });
  const ratio = (medianOf(samples, "before") ?? Number.NaN) / (medianOf(samples, "after") ?? Number.NaN);
  recorder.compare(ratio < PAYS ? `${name}: does not pay here` : name, samples, "after", "before");
  forms.dispose?.();
}

async function run(recorder: Recorder): Promise<void> {
  for (const { make, ...item } of [...ITEMS, ...ENVIRONMENT_ITEMS]) {
    try {
      await measureItem(recorder, item, make());
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      recorder.skip(`${item.id} ${item.what}`, error.message);
    }
  }
  const item = { id: "P11", what: "sampling off the main thread", params: SAMPLING_PARAMS, items: 1 };
  const forms = await samplingElsewhere();
  if (forms === undefined) recorder.skip(`${item.id} ${item.what}`, "needs the built package: npx lockstep bench");
  else await measureItem(recorder, item, forms);
  for (const [what, reason] of NOT_YET) recorder.skip(what, reason);
}

export const optimisationsSuite: Suite = {
  name: "optimisations",
  what: "a plan of thirteen improvements, each before and after",
  run,
};
