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
import type { rolloutKeys } from "./rollout.ts";
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

/** A world for a configuration. */
export function worldOf(
  playground: Playground,
  { nEnvs, nSteps }: { readonly nEnvs: number; readonly nSteps: number },
  seed: number,
): World {
  if (typeof playground === "function") return new HostWorld(playground(nEnvs, seed), { steps: nSteps });
  return new CompiledWorld(playground, { n: nEnvs, steps: nSteps, seed });
}

type Maker<C> = new (world: World, config: C, options: OnPolicyOptions) => Algorithm;

/** A kind whose algorithms are made in a world, and own all states that are made with them. */
function kindOf<S extends z.ZodObject<typeof rolloutKeys>>(
  about: Pick<AlgorithmKind<S>, "name" | "title" | "schema" | "presets">,
  Made: Maker<z.output<S>>,
): AlgorithmKind<S> {
  const make: AlgorithmKind<S>["make"] = (playground, config, options) => {
    const scope = new StateScope();
    return scope.run(() => new Made(worldOf(playground, config, options.seed ?? 0), config, { ...options, scope }));
  };
  return { ...about, make };
}

const ppo = kindOf({ name: "ppo", title: "proximal policy optimisation", schema: ppoSchema, presets: ppoPresets }, Ppo);
const a2c = kindOf({ name: "a2c", title: "advantage actor-critic", schema: a2cSchema, presets: a2cPresets }, A2c);

export const ALGORITHMS = { ppo, a2c } as const;
export type AlgorithmName = keyof typeof ALGORITHMS;

export function algorithmKind(name: string): AlgorithmKind {
  const found = Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name as AlgorithmName] : undefined;
  if (found) return found as unknown as AlgorithmKind;
  const known = Object.keys(ALGORITHMS);
  throw new UsageError(`there is no algorithm "${name}".${didYouMean(name, known)} Algorithms: ${known.join(", ")}.`);
}
