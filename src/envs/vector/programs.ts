/**
 * @file The kernels of an environment, shared: VecEnvs of one environment, with the same parameters and the same way of
 * starting over, use the same compiled code. Code that no VecEnv uses any more is kept for the next one, up to a number.
 */
import { KernelError } from "../../kernel/errors.ts";
import type { Kernel, KernelOn, RunOptions } from "../../kernel/kernel.ts";
import type { TargetChoice } from "../../runtime/targets.ts";
import { type Environment, EnvironmentError, type Params } from "../define.ts";
import { type Autoreset, type KernelParams, type OWN_TYPES, type OwnTypes, resetKernel, stepKernel } from "./kernel.ts";
import type { CheckedParams } from "./options.ts";

interface Shared {
  readonly kernel: Kernel;
  /** What has been compiled of it. */
  readonly opened: Set<KernelOn<never>>;
  /** VecEnvs that use it. */
  users: number;
}

const kernels = new WeakMap<Environment, Map<string, Shared>>();
/** Kernels of one environment that are kept though nobody uses them: those used last. */
const MOST_KEPT = 16;

/** Numbers that JSON does not have are told apart, too. */
function keyOf(what: string, { constants, own }: KernelParams): string {
  const fixed = Object.entries(constants).map(([name, x]) => `${name}=${x}`);
  return [what, ...[...own].map(([name, type]) => `${name}:${type}`), "", ...fixed].join(" ");
}

/** A kernel for these parameters, as the one used last. */
function shared(env: Environment, what: string, params: KernelParams, make: () => Kernel): Shared {
  const all = kernels.get(env) ?? new Map<string, Shared>();
  kernels.set(env, all);
  const key = keyOf(what, params);
  const found = all.get(key) ?? { kernel: make(), opened: new Set(), users: 0 };
  all.delete(key);
  all.set(key, found);
  return found;
}
/** The kernels that begin episodes and that step; the first are the same however environments start over. */
function kernelsOf(env: Environment, params: KernelParams, autoreset: Autoreset): readonly [Shared, Shared] {
  return [
    shared(env, "reset", params, () => resetKernel(env, params)),
    shared(env, autoreset, params, () => stepKernel(env, params, autoreset)),
  ];
}

/** Lets go of the code that was used longest ago. */
function dropOldest(env: Environment): void {
  const all = kernels.get(env) ?? new Map<string, Shared>();
  const idle = [...all].filter(([, { users }]) => users === 0);
  for (const [key, { opened }] of idle.slice(0, Math.max(idle.length - MOST_KEPT, 0))) {
    all.delete(key);
    for (const { program } of opened) program.dispose();
  }
}

export interface CompiledKernels {
  readonly reset: KernelOn<never>;
  readonly step: KernelOn<never>;
  /** Says that they are not used any more. */
  release(): void;
}
/** The kernels on a target, compiled where they are not yet; to be released. */
export function compiledKernels(
  env: Environment,
  params: KernelParams,
  autoreset: Autoreset,
  target: TargetChoice,
  run: RunOptions,
): CompiledKernels {
  const both = kernelsOf(env, params, autoreset);
  const open = ({ kernel, opened }: Shared): KernelOn<never> => {
    const on = kernel.on(target, run) as KernelOn<never>;
    opened.add(on);
    return on;
  };
  const [reset, step] = [open(both[0]), open(both[1])];
  for (const one of both) one.users++;
  const release = (): void => {
    for (const one of both) one.users--;
    dropOldest(env);
  };
  return { reset, step, release };
}

type OwnType = keyof typeof OWN_TYPES;
/** Types that were found out, by name. */
const knownTypes = new WeakMap<Environment, Map<string, OwnType>>();

/** What the compiler says against parameters of these types; nothing, if they can be. */
function refusal(these: readonly Kernel[]): KernelError | undefined {
  try {
    for (const kernel of these) kernel.ir();
    return undefined;
  } catch (error) {
    if (error instanceof KernelError) return error;
    throw error;
  }
}

function findType(env: Environment, constants: Params, name: string): OwnType {
  const why = (type: OwnType): KernelError | undefined => {
    const params = { constants, own: new Map([[name, type]]) };
    return refusal([resetKernel(env, params), stepKernel(env, params, "same-step")]);
  };
  const against = why("f32");
  if (!against) return "f32";
  if (!why("i32")) return "i32";
  throw new EnvironmentError(`${env.id}: "${name}" cannot differ between environments: ${against.message}`);
}

/**
 * The types of parameters that each environment has its own of: f32, and i32 where the environment's code takes nothing
 * else. A constant is either, so only the compiler can say.
 */
export function ownTypes(env: Environment, { constants, lists }: CheckedParams, autoreset: Autoreset): OwnTypes {
  const names = [...lists.keys()].sort();
  const known = knownTypes.get(env) ?? new Map<string, OwnType>();
  knownTypes.set(env, known);
  const floats: OwnTypes = new Map(names.map((name) => [name, "f32"]));
  const areFloats = !names.some((name) => known.get(name) === "i32");
  const kept = (): Kernel[] => kernelsOf(env, { constants, own: floats }, autoreset).map(({ kernel }) => kernel);
  if (names.length === 0 || (areFloats && !refusal(kept()))) return floats;
  for (const name of names) {
    const type = known.get(name) ?? findType(env, constants, name);
    known.set(name, type);
    const part = Array.from(lists.get(name) as ArrayLike<number>).find((x) => type === "i32" && (x | 0) !== x);
    if (part !== undefined)
      throw new EnvironmentError(`${env.id}: the parameter "${name}" takes whole numbers, and ${part} is none`);
  }
  return new Map(names.map((name) => [name, known.get(name) as OwnType]));
}
