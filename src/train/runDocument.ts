/**
 * @file config.json: what a run was told, whole, and what its policy needs to be made again without the environment.
 *
 * It may come from anywhere: forms and sizes are checked when it is read.
 */
import * as z from "zod";
import type { Spaces } from "../algorithms/actorCritic.ts";
import type { Algorithm } from "../algorithms/algorithm.ts";
import { type AlgorithmKind, algorithmKind, type Playground } from "../algorithms/registry.ts";
import { LockstepError } from "../platform/errors.ts";
import { sha256 } from "../platform/sha256.ts";
import { runConfigSchema } from "./config/run.ts";
import { PlainDataError, readPlain, writePlain } from "./plainData.ts";

/** A config.json that does not describe a run. */
export class RunDocumentError extends LockstepError {
  override readonly name = "RunDocumentError";
}

const FORMAT = 1;
/** Numbers of an observation or an action; more are not what a policy of these sizes could be trained on. */
const MOST_NUMBERS = 2 ** 24;
const size = z.int().positive().max(MOST_NUMBERS);
const figure = z.custom<number>((value) => typeof value === "number" && !Number.isNaN(value), {
  error: "a number is missing",
});
const limits = z.union([figure, z.array(figure).max(MOST_NUMBERS)]);
const shape = z
  .array(size)
  .max(8)
  .refine((sizes) => sizes.reduce((product, n) => product * n, 1) <= MOST_NUMBERS, { error: "it is too large" });
const boxOf = <T extends "f32" | "u8">(...types: [T, ...T[]]) =>
  z.object({ kind: z.literal("box"), shape, dtype: z.enum(types), low: limits, high: limits });
const masked = z.boolean().exactOptional();
const discrete = z.object({ kind: z.literal("discrete"), n: size, start: z.int(), masked });
const multiDiscrete = z.object({ kind: z.literal("multiDiscrete"), counts: z.array(size).min(1).max(4096), masked });
const spaces: z.ZodType<Spaces> = z.object({
  id: z.string(),
  observation: z.discriminatedUnion("kind", [boxOf("f32", "u8"), discrete]),
  action: z.discriminatedUnion("kind", [boxOf("f32"), discrete, multiDiscrete]),
});

const documentSchema = runConfigSchema
  .omit({ out: true, name: true })
  .extend({
    format: z.literal(FORMAT),
    /** Of every so many steps one checkpoint is kept for good; 0 for none. */
    keepEvery: z.int().min(0).default(0),
    /** 0 for no evaluations at all. */
    evalEpisodes: z.int().min(0).max(100_000),
    /** Whether each phase of an iteration is measured. */
    split: z.boolean().default(false),
    /** What tells this kind of run from others, for reports. */
    label: z.string().optional(),
    /** The hash of the environment's file, where it comes from one. */
    env_sha256: z.string().optional(),
    hyperparameters: z.record(z.string(), z.unknown()),
    spaces,
  })
  // Later versions may add keys.
  .strip();

/** What a run was told. Numerics and spaces are what they came out as; the target is what was wished for. */
export type RunDocument = z.output<typeof documentSchema>;
export const RUN_FORMAT = FORMAT;

export const writeDocument = (document: RunDocument): string => `${writePlain(document, "the configuration", 2)}\n`;

/** A document out of the text of config.json, or out of what JSON.parse made of it. */
export function readDocument(given: unknown, name = "config.json"): RunDocument {
  const refuse = (why: string): never => {
    throw new RunDocumentError(`${name} does not describe a run: ${why}`);
  };
  let value: unknown;
  try {
    value = readPlain(typeof given === "string" ? given : JSON.stringify(given));
  } catch (error) {
    return refuse(error instanceof PlainDataError ? error.message : String(error));
  }
  const { format } = { format: undefined, ...(value as object | null) };
  if (typeof format === "number" && format > FORMAT)
    refuse(`it has format ${format}, this version reads ${FORMAT}; use the version that wrote it`);
  const result = documentSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  return refuse(`${issue?.path.join(".") || "the whole"}: ${issue?.message}`);
}

/** The algorithm of a document, and its hyperparameters as the algorithm takes them. */
export function algorithmOf(document: Pick<RunDocument, "algo" | "hyperparameters">): {
  readonly kind: AlgorithmKind;
  readonly hyperparameters: { readonly [key: string]: unknown };
} {
  const kind = algorithmKind(document.algo);
  const result = kind.schema.safeParse(document.hyperparameters);
  if (result.success) return { kind, hyperparameters: result.data };
  const [issue] = result.error.issues;
  throw new RunDocumentError(`the hyperparameters are not those of ${kind.name}: ${issue?.path}: ${issue?.message}`);
}

/** The algorithm that a document describes, about to begin. */
export function makeAlgorithm(document: Omit<RunDocument, "spaces">, playground: Playground): Algorithm {
  const { seed, steps, target, threads, numerics, split } = document;
  const { kind, hyperparameters } = algorithmOf(document);
  return kind.make(playground, hyperparameters, {
    seed,
    totalSteps: steps,
    target,
    ...(threads === null ? {} : { threads }),
    ...(numerics === "auto" ? {} : { numerics }),
    // Worlds of objects are split anyway: false would be a wish.
    ...(split ? { split } : {}),
  });
}

/** Keys in alphabetical order, all the way down: equal values have equal texts. */
function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, ordered(inner)]));
}

/** What tells whether a checkpoint belongs to a configuration: all that numbers depend on, but for the run's length. */
export function documentHash({ algo, seed, numerics, hyperparameters, spaces }: RunDocument): string {
  const text = writePlain(ordered({ algo, seed, numerics, hyperparameters, spaces }), "the configuration");
  return sha256(new TextEncoder().encode(text));
}
