/**
 * @file The targets that must agree, in the forms that compile differently.
 */
import type { Stmt } from "../../src/ir/nodes.ts";
import { rewriteFunctions } from "../../src/ir/passes/rewrite.ts";
import type { PassOptions } from "../../src/ir/pipeline.ts";
import { mapStmts } from "../../src/ir/walk.ts";
import { heap } from "../../src/runtime/heap.ts";
import { createJsTarget } from "../../src/targets/js/index.ts";
import { createNativeTarget } from "../../src/targets/native/index.ts";
import type { Target } from "../../src/targets/target.ts";
import { createWasmTarget, wasmFeatures } from "../../src/targets/wasm/index.ts";

/** `shrinks` is how many smaller kernels may be tried when something differs: a C compiler takes its time. */
export type Variant =
  | {
      readonly kind: "target";
      readonly name: string;
      readonly target: Target;
      readonly threads: number;
      readonly shrinks: number;
    }
  | {
      readonly kind: "interpreter";
      readonly name: string;
      readonly machine: PassOptions | undefined;
      readonly shrinks: number;
    };

/** A target that takes every launch for worth several threads, however short. */
function eager(target: Target): Target {
  const dear = (s: Stmt): Stmt => (s.kind === "launch" ? { ...s, cost: 1e9 } : s);
  return {
    name: target.name,
    machine: target.machine,
    compile: (lowered, options) => {
      const module = rewriteFunctions(lowered.module, (f) => ({ ...f, body: mapStmts(f.body, dear) }));
      return target.compile({ ...lowered, module }, options);
    },
  };
}

function nativeVariants(): Variant[] {
  // What is tested is the generated C; less optimisation of so much of it saves minutes.
  const env = { ...process.env, CC: `${process.env.CC ?? "cc"} -O1` };
  const { target } = createNativeTarget({ memory: heap().memory, threads: 2, env });
  if (!target) return [];
  return [
    { kind: "target", name: "native", target, threads: 1, shrinks: 60 },
    { kind: "target", name: "native, 2 threads", target: eager(target), threads: 2, shrinks: 60 },
  ];
}

function wasmVariants(): Variant[] {
  const { memory } = heap();
  const features = wasmFeatures();
  const forms = [
    { name: "wasm", options: { memory, vectorBytes: 16 }, threads: 1 },
    { name: "wasm, 2 threads", options: { memory, vectorBytes: 16 }, threads: 2 },
    { name: "wasm, pairs", options: { memory, vectorBytes: 32 }, threads: 1 },
    { name: "wasm, scalar", options: { memory, vectorBytes: 0 }, threads: 1 },
    {
      name: "wasm, no relaxed SIMD",
      options: { memory, features: { ...features, relaxedSimd: false, fusedMadd: false } },
      threads: 1,
    },
  ];
  return forms.flatMap(({ name, options, threads }): Variant[] => {
    const { target } = createWasmTarget(options);
    return target
      ? [{ kind: "target", name, target: threads > 1 ? eager(target) : target, threads, shrinks: 2000 }]
      : [];
  });
}

let made: readonly Variant[] | undefined;

export function variants(): readonly Variant[] {
  made ??= [
    { kind: "target", name: "js", target: createJsTarget(heap().memory), threads: 1, shrinks: 2000 },
    { kind: "interpreter", name: "lowered for vectors", machine: { vectorBytes: 32, launches: true }, shrinks: 2000 },
    ...wasmVariants(),
    ...nativeVariants(),
  ];
  return made;
}
