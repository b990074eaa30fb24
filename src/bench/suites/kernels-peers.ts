/**
 * @file The suite's array kernels in NumPy and in jitted JAX, on one thread, from the same inputs.
 */
import { gate } from "../gate.ts";
import { ensurePeers, PEER_GROUPS, PeerError, runPeer } from "../peers.ts";
import type { Recorder } from "../suite.ts";
import { CASES, type KernelCase, makeArrays, plainArray } from "./kernels-cases.ts";
import { IN_F32 } from "./kernels-js.ts";

const PEER_CASES: readonly string[] = ["saxpy", "sum", "exp", "polynomial"];

/** Arrays travel as hexadecimal bytes. Prints { arms: { arm: { case: { ns: [...], out: hex } } }, versions, skipped }. */
const SCRIPT = `
import json, os, sys, time
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import numpy as np
task = json.load(sys.stdin)
arrays = {case: {k: np.frombuffer(bytes.fromhex(v), np.float32).copy() for k, v in given.items()}
          for case, given in task["cases"].items()}
a = np.float32(task["a"])

def horner(x):
    p = 0.125
    for c in (-0.25, 0.375, -0.5, 0.625, -0.75, 0.875, -1.0, 1.125):
        p = p * x + c
    return p

def samples(run):
    count, begin = 1, time.perf_counter_ns()
    while time.perf_counter_ns() - begin < task["warmUpNs"]:
        start = time.perf_counter_ns()
        for _ in range(count): run()
        if time.perf_counter_ns() - start < task["sampleNs"]: count *= 2
    found = []
    for _ in range(task["samples"]):
        start = time.perf_counter_ns()
        for _ in range(count): run()
        found.append((time.perf_counter_ns() - start) / count)
    return found

def f32(value):
    return np.asarray(value, np.float32).reshape(-1).tobytes().hex()

def numpy_arms():
    def saxpy(d):
        d["y"] += a * d["x"]
        return d["y"]
    def exp(d):
        return np.exp(d["x"], out=d["y"])
    def polynomial(d):
        p = np.multiply(d["x"], np.float32(0.125), out=d["y"])
        p += np.float32(-0.25)
        for c in (0.375, -0.5, 0.625, -0.75, 0.875, -1.0, 1.125):
            p *= d["x"]
            p += np.float32(c)
        return p
    return {"saxpy": saxpy, "sum": lambda d: np.sum(d["x"]), "exp": exp, "polynomial": polynomial}

def jax_arms():
    import jax, jax.numpy as jnp
    functions = {"saxpy": lambda d: a * d["x"] + d["y"], "sum": lambda d: jnp.sum(d["x"]),
                 "exp": lambda d: jnp.exp(d["x"]), "polynomial": lambda d: horner(d["x"])}
    def arm(function):
        jitted = jax.jit(function)
        return lambda d: jitted(d).block_until_ready()
    return {name: arm(function) for name, function in functions.items()}, jnp.asarray

result = {"arms": {"numpy": {}, "jax": {}}, "versions": {"numpy": np.__version__}, "skipped": {}}
for name, run in numpy_arms().items():
    out = f32(run({k: v.copy() for k, v in arrays[name].items()}))
    given = {k: v.copy() for k, v in arrays[name].items()}
    result["arms"]["numpy"][name] = {"ns": samples(lambda: run(given)), "out": out}
    print("numpy", name, file=sys.stderr)
try:
    arms, put = jax_arms()
    import jax
    result["versions"]["jax"] = jax.__version__
    for name, run in arms.items():
        given = {k: put(v) for k, v in arrays[name].items()}
        result["arms"]["jax"][name] = {"ns": samples(lambda: run(given)), "out": f32(run(given))}
        print("jax", name, file=sys.stderr)
except ImportError as error:
    result["skipped"]["jax"] = str(error)
print(json.dumps(result))
`;

interface PeerResult {
  readonly arms: {
    readonly [arm: string]: { readonly [name: string]: { readonly ns: number[]; readonly out: string } };
  };
  readonly versions: { readonly [name: string]: string };
  readonly skipped: { readonly [arm: string]: string };
}

const toHex = (array: Float32Array | Uint8Array): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex");

function fromHex(text: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(text, "hex"));
  return new Float32Array(bytes.buffer, 0, bytes.length / 4);
}

/** What our side computes from a case's inputs: the hand-written loop, which the gate of the case has checked. */
function expected(one: KernelCase): Float32Array {
  const arrays = makeArrays(one, plainArray);
  one.js(IN_F32, arrays, one.scalars)();
  return arrays[one.outputs[0] ?? ""] as Float32Array;
}

/** Measures the peers and adds their rows; what cannot be measured is recorded as skipped. */
export async function measurePeers(recorder: Recorder, root: string): Promise<void> {
  const cases = CASES.filter((one) => PEER_CASES.includes(one.name));
  const input = {
    a: cases[0]?.scalars.a,
    ...recorder.timing,
    cases: Object.fromEntries(
      cases.map((one) => [
        one.name,
        Object.fromEntries(Object.entries(makeArrays(one, plainArray)).map(([name, array]) => [name, toHex(array)])),
      ]),
    ),
  };
  const say = (line: string): void => recorder.say(line);
  let result: PeerResult;
  try {
    const python = await ensurePeers(PEER_GROUPS.jax, { root, say });
    result = (await runPeer(python, SCRIPT, input, say)) as PeerResult;
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    recorder.skip("peers numpy, jax", error.message);
    return;
  }
  for (const [name, version] of Object.entries(result.versions)) recorder.version(name, version);
  for (const [arm, reason] of Object.entries(result.skipped)) recorder.skip(`peer ${arm}`, reason);
  for (const [framework, found] of Object.entries(result.arms)) {
    for (const one of cases) {
      const measured = found[one.name];
      if (measured === undefined) continue;
      const { name, params, items } = one;
      const check = (): void => gate(`${name} in ${framework}`, fromHex(measured.out), expected(one), one.tolerance);
      recorder.external({ name, category: "kernels", framework, params, items, ns: measured.ns, gate: check });
    }
  }
}
