/**
 * @file All algorithms by name: their configuration, the presets of other implementations, and how they are made.
 */
import type { z } from "zod";
import type { Environment } from "../envs/define.ts";
import type { VectorEnv } from "../envs/vector/face.ts";
import { UsageError } from "../platform/errors.ts";
import { didYouMean } from "../platform/suggest.ts";
import { StateScope } from "../tensor/index.ts";
import { A2c, a2cPresets, a2cSchema } from "./a2c.ts";
import type { Algorithm } from "./algorithm.ts";
import { CompiledWorld } from "./compiledWorld.ts";
import type { OnPolicyOptions } from "./onPolicy.ts";
import { Ppo, ppoPresets, ppoSchema } from "./ppo.ts";
import { HostWorld, type World } from "./world.ts";

/** What is trained in: a compiled environment, or a function that makes a vector of JavaScript ones. */
export type Playground = Environment | ((n: number, seed: number) => VectorEnv);

export interface AlgorithmKind<S extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** In a few words. */
  readonly title: string;
  readonly schema: S;
  readonly presets: { readonly [name: string]: object };
  make(playground: Playground, config: z.output<S>, options: OnPolicyOptions): Algorithm;
}

/** Makes an algorithm whose states go with it. */
function owning<A>(make: (scope: StateScope) => A): A {
  const scope = new StateScope();
  return scope.run(() => make(scope));
}

/** A world for a configuration. */
export function worldOf(
  playground: Playground,
  { nEnvs, nSteps }: { readonly nEnvs: number; readonly nSteps: number },
  seed: number,
): World {
  if (typeof playground === "function") return new HostWorld(playground(nEnvs, seed), { steps: nSteps });
  return new CompiledWorld(playground, { n: nEnvs, steps: nSteps, seed });
}

const ppo: AlgorithmKind<typeof ppoSchema> = {
  name: "ppo",
  title: "proximal policy optimisation",
  schema: ppoSchema,
  presets: ppoPresets,
  make: (playground, config, options) =>
    owning((scope) => new Ppo(worldOf(playground, config, options.seed ?? 0), config, { ...options, scope })),
};
const a2c: AlgorithmKind<typeof a2cSchema> = {
  name: "a2c",
  title: "advantage actor-critic",
  schema: a2cSchema,
  presets: a2cPresets,
  make: (playground, config, options) =>
    owning((scope) => new A2c(worldOf(playground, config, options.seed ?? 0), config, { ...options, scope })),
};

export const ALGORITHMS = { ppo, a2c } as const;
export type AlgorithmName = keyof typeof ALGORITHMS;

export function algorithmKind(name: string): AlgorithmKind {
  const found = Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name as AlgorithmName] : undefined;
  if (found) return found as unknown as AlgorithmKind;
  const known = Object.keys(ALGORITHMS);
  throw new UsageError(`there is no algorithm "${name}".${didYouMean(name, known)} Algorithms: ${known.join(", ")}.`);
}
