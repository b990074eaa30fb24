/**
 * @file Policies out of files: a run folder in Node, or the contents of config.json and of a checkpoint anywhere.
 *
 * Networks are made from the configuration only after the file's tensors have been seen to be the ones it asks for.
 */
import { ActorCritic, type NetworkConfig, type Spaces } from "../algorithms/actorCritic.ts";
import type { ObservationNorm } from "../algorithms/normalise.ts";
import { observationNormOf, type RolloutConfig } from "../algorithms/rollout.ts";
import { Parameters } from "../nn/index.ts";
import { type FileTensor, readTensors } from "../nn/safetensors.ts";
import { fitting } from "../nn/saving.ts";
import { type OptionNames, strayOption } from "../platform/suggest.ts";
import { CheckpointError } from "./checkpoints.ts";
import { POLICY_OPTIONS, Policy, PolicyError, type PolicyOptions } from "./policy.ts";
import { algorithmOf, type RunDocument, readDocument } from "./runDocument.ts";
import { RunFolder } from "./runFolder.ts";
import { STATE_PREFIX } from "./snapshot.ts";

/** Contents of files: of config.json, as text or parsed, and of a checkpoint's tensors. */
export interface PolicyFiles {
  readonly config: string | object;
  readonly tensors: Uint8Array;
}
export interface LoadPolicyOptions extends PolicyOptions {
  /** Which checkpoint of a run folder: its steps, the last one, or the one that was best in evaluations. */
  readonly checkpoint?: "last" | "best" | number;
}

const LOAD_OPTIONS: OptionNames<LoadPolicyOptions> = { ...POLICY_OPTIONS, checkpoint: true };

type Tensors = ReadonlyMap<string, FileTensor>;

/** The policy of a run. Random numbers, targets and threads are as in `Policy`; numerics are the run's own. */
export function loadPolicy(from: string | PolicyFiles, options: LoadPolicyOptions = {}): Policy {
  const stray = strayOption(options, LOAD_OPTIONS);
  if (stray) throw new PolicyError(`loadPolicy: ${stray}`);
  const { checkpoint = "last", ...policyOptions } = options;
  if (typeof from !== "string")
    return policyFrom(readDocument(from.config), readTensors(from.tensors).tensors, policyOptions);
  const folder = RunFolder.open(from);
  return policyFrom(folder.readConfig(), tensorsIn(folder, checkpoint), policyOptions);
}

function tensorsIn({ checkpoints, path }: RunFolder, which: "last" | "best" | number): Tensors {
  if (typeof which === "number") return checkpoints.read(which).tensors;
  const passed: string[] = [];
  const newest = checkpoints.newest((text) => passed.push(text));
  if (!newest) throw new CheckpointError([`${path} has no checkpoint that can be used`, ...passed].join("; "));
  const best = which === "best" ? newest.info.best?.steps : undefined;
  return best !== undefined && checkpoints.list().includes(best) ? checkpoints.read(best).tensors : newest.tensors;
}

function policyFrom(document: RunDocument, tensors: Tensors, options: PolicyOptions): Policy {
  const { spaces, numerics } = document;
  const config = algorithmOf(document).hyperparameters as unknown as NetworkConfig & RolloutConfig;
  const parameters = new Parameters({ seed: document.seed });
  const agent = new ActorCritic(spaces, config, parameters);
  // The arena is made when it is first used: until then a configuration of any size costs nothing.
  const data = parameters.list.map(({ name, shape }) => {
    return [name, fitting(tensors.get(name), name, parameters.dtype, shape)] as const;
  });
  const observationNorm = config.normalizeObs ? normFrom(spaces, tensors) : undefined;
  for (const [name, values] of data) parameters.array(name).set(values);
  return new Policy({ spaces, agent, observationNorm }, { ...(numerics === "auto" ? {} : { numerics }), ...options });
}
function normFrom(spaces: Spaces, tensors: Tensors): ObservationNorm {
  const norm = observationNormOf(spaces);
  for (const { name, dtype, shape, array } of norm.states) {
    const full = STATE_PREFIX + name;
    array.set(fitting(tensors.get(full), full, dtype, shape));
  }
  return norm;
}
