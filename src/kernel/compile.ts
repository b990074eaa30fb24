/**
 * @file Front end A as a list of stages: source -> syntax tree -> steps over terms -> types -> IR.
 */
import type { Module } from "../ir/nodes.ts";
import type { KernelSpec } from "./declare.ts";
import { elaborate } from "./elaborate.ts";
import { KernelError, Refusal } from "./errors.ts";
import { Lowering } from "./lower.ts";

/** The IR of a kernel; what cannot be compiled gives a KernelError. */
export function compileKernel(spec: KernelSpec): Module {
  try {
    const elaborated = elaborate(spec);
    const lowering = new Lowering(elaborated, spec.options.numerics === "fused");
    const entry = lowering.entry(spec.name);
    return { name: spec.name, entry, sites: lowering.sites };
  } catch (error) {
    if (error instanceof Refusal) throw new KernelError(spec.name, error.complaint, error.span, spec.site);
    throw error;
  }
}
