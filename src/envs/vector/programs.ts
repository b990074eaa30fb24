/**
 * @file The kernels of an environment, shared: VecEnvs of one environment, with the same parameters and the same way of
 * starting over, use the same compiled code. It is kept for as long as the environment's definition is.
 */
import { KernelError } from "../../kernel/errors.ts";
import type { Kernel, KernelOn, RunOptions } from "../../kernel/kernel.ts";
import type { TargetChoice } from "../../runtime/targets.ts";
import { type Environment, EnvironmentError } from "../define.ts";
import { type Autoreset, type KernelParams, resetKernel, stepKernel } from "./kernel.ts";

interface EnvKernels {
  readonly reset: Kernel;
  readonly step: Kernel;
}

const kernels = new WeakMap<Environment, Map<string, EnvKernels>>();

/** Numbers that JSON does not have are told apart, too. */
const keyOf = (params: KernelParams, autoreset: Autoreset): string =>
  [autoreset, ...params.own, "", ...Object.entries(params.constants).map(([name, x]) => `${name}=${x}`)].join(" ");

function kernelsOf(env: Environment, params: KernelParams, autoreset: Autoreset): EnvKernels {
  const found = kernels.get(env) ?? new Map<string, EnvKernels>();
  kernels.set(env, found);
  const key = keyOf(params, autoreset);
  const made = found.get(key) ?? { reset: resetKernel(env, params), step: stepKernel(env, params, autoreset) };
  found.set(key, made);
  return made;
}

export interface CompiledKernels {
  readonly reset: KernelOn<never>;
  readonly step: KernelOn<never>;
}
/** The kernels on a target, compiled where they are not yet. */
export function compiledKernels(
  env: Environment,
  params: KernelParams,
  autoreset: Autoreset,
  target: TargetChoice,
  run: RunOptions,
): CompiledKernels {
  const { reset, step } = kernelsOf(env, params, autoreset);
  try {
    return { reset: reset.on(target, run) as KernelOn<never>, step: step.on(target, run) as KernelOn<never> };
  } catch (error) {
    // Parameters out of arrays are f32: those that count something, or choose code, cannot be such.
    if (params.own.length === 0 || !(error instanceof KernelError)) throw error;
    const names = params.own.join(", ");
    throw new EnvironmentError(`${env.id}: one of ${names} cannot differ between environments: ${error.message}`);
  }
}
