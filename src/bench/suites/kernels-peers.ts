/**
 * @file The suite's array kernels in NumPy and in jitted JAX, on one thread, from the same inputs.
 */
import { type Expected, type PythonPeers, startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";
import { CASES, type KernelCase, makeArrays, plainArray } from "./kernels-cases.ts";
import { IN_F32 } from "./kernels-js.ts";

const PEER_CASES: readonly string[] = ["saxpy", "sum", "exp", "polynomial"];

const SCRIPT = `
a = np.float32(task["a"])

def horner(x):
    p = 0.125
    for c in (-0.25, 0.375, -0.5, 0.625, -0.75, 0.875, -1.0, 1.125):
        p = p * x + c
    return p

def numpy_saxpy(d):
    d["y"] += a * d["x"]
    return d["y"]

def numpy_polynomial(d):
    p = np.multiply(d["x"], np.float32(0.125), out=d["y"])
    p += np.float32(-0.25)
    for c in (0.375, -0.5, 0.625, -0.75, 0.875, -1.0, 1.125):
        p *= d["x"]
        p += np.float32(c)
    return p

NUMPY = {"saxpy": numpy_saxpy, "sum": lambda d: np.sum(d["x"]), "exp": lambda d: np.exp(d["x"], out=d["y"]),
         "polynomial": numpy_polynomial}

def given(name, put):
    return {key[len(name) + 1:]: put(value) for key, value in arrays.items() if key.startswith(name + ".")}

def register(framework, functions, put):
    for name, run in functions.items():
        first = np.asarray(run(given(name, put)), np.float32).reshape(-1).copy()
        operands = given(name, put)
        arm(name, framework, lambda run=run, operands=operands: run(operands), {"out": first})

register("numpy", NUMPY, np.copy)
jax = package("jax")
if jax:
    import jax.numpy as jnp
    functions = {"saxpy": lambda d: a * d["x"] + d["y"], "sum": lambda d: jnp.sum(d["x"]),
                 "exp": lambda d: jnp.exp(d["x"]), "polynomial": lambda d: horner(d["x"])}
    def waiting(function):
        jitted = jax.jit(function)
        return lambda d: jitted(d).block_until_ready()
    register("jax", {name: waiting(function) for name, function in functions.items()}, jnp.asarray)
serve()
`;

/** What our side computes from a case's inputs: the hand-written loop, which the gate of the case has checked. */
function computed(one: KernelCase): Float32Array {
  const arrays = makeArrays(one, plainArray);
  one.js(IN_F32, arrays, one.scalars)();
  return arrays[one.outputs[0] ?? ""] as Float32Array;
}

/** What the peers of a case have to compute. */
export const expectedOf = (one: KernelCase): Expected => ({
  outputs: { out: PEER_CASES.includes(one.name) ? computed(one) : [] },
  tolerance: one.tolerance,
});

/** The peers, ready for their turns. */
export function startKernelPeers(recorder: Recorder): Promise<PythonPeers> {
  const cases = CASES.filter((one) => PEER_CASES.includes(one.name));
  const arrays = Object.fromEntries(
    cases.flatMap((one) =>
      Object.entries(makeArrays(one, plainArray)).map(([name, array]) => [`${one.name}.${name}`, array]),
    ),
  );
  const input = { a: cases[0]?.scalars.a };
  return startPython(recorder, { group: "jax", script: SCRIPT, arrays, input });
}
