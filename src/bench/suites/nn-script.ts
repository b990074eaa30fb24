/**
 * @file A step of regression in jax-js and TensorFlow.js, both on their WebAssembly backends, against ours.
 *
 * Both are installed with npm into `.peers/js` when peers are asked for; this package does not depend on them. They run
 * in a process of their own and take turns like the peers in Python. jax-js computes on workers of its own: its clock
 * stops when the last loss has arrived.
 */
import { gate, type Tolerance } from "../gate.ts";
import { ensurePackages, startScript } from "../packages.ts";
import { PeerError, type PeerProcess } from "../peers.ts";
import type { Recorder } from "../suite.ts";
import type { BenchTargets } from "../targets.ts";
import type { Arm, RemoteArm } from "../timing.ts";
import { type BenchName, type NnCase, type NnSide, nnCase } from "./nn-cases.ts";

const PACKAGES = ["@jax-js/jax@0.1.25", "@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0"] as const;
const BATCH = 1024;
const JAX = "jax-js wasm, jit";
const TFJS = "tfjs wasm";
const SCRIPT = `
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
const require = createRequire(join(task.folder, "index.js"));

async function jaxArms() {
  const file = join(dirname(require.resolve("@jax-js/jax")), "index.js");
  const { numpy: np, jit, valueAndGrad, init, defaultDevice } = await import(pathToFileURL(file).href);
  await init("wasm");
  defaultDevice("wasm");
  const loss = (p, x, y) => {
    for (let k = 0; k < p.length; k += 2) {
      x = np.matmul(x, p[k]).add(p[k + 1]);
      if (k + 2 < p.length) x = np.tanh(x);
    }
    const d = x.sub(y);
    return np.mean(d.ref.mul(d));
  };
  for (const one of task.cases) {
    const make = (values, shape) => np.array(Float32Array.from(values)).reshape(shape);
    const step = jit((p, m, v, t, x, y) => {
      const [l, g] = valueAndGrad(loss)(p.map((q) => q.ref), x, y);
      t = t.add(1);
      const left = (beta) => np.array(1).sub(np.power(np.array(beta), t.ref));
      const rate = np.array(1e-3).div(left(0.9));
      const root = np.sqrt(left(0.999));
      const m1 = m.map((a, k) => a.mul(0.9).add(g[k].ref.mul(0.1)));
      const v1 = v.map((a, k) => a.mul(0.999).add(g[k].ref.mul(g[k]).mul(0.001)));
      const p1 = p.map((q, k) => q.sub(m1[k].ref.mul(rate.ref).div(np.sqrt(v1[k].ref).div(root.ref).add(1e-8))));
      return [l, p1, m1, v1, t];
    });
    const [x, y] = [make(one.obs, [task.batch, 4]), make(one.targets, [task.batch, 2])];
    const zeros = () => one.parameters.map(({ shape }) => np.zeros(shape));
    let state = [one.parameters.map(({ values, shape }) => make(values, shape)), zeros(), zeros(), np.array(0)];
    const run = () => {
      const [l, ...next] = step(...state, x.ref, y.ref);
      state = next;
      return l;
    };
    const first = (await run().data())[0];
    const time = async (calls) => {
      const begin = performance.now();
      let last;
      for (let k = 0; k < calls; k++) {
        last?.dispose();
        last = run();
      }
      await last.data();
      return (performance.now() - begin) * 1e6;
    };
    arms.push({ name: one.name, framework: task.jax, loss: first, time });
  }
}

async function tfArms() {
  const tf = require("@tensorflow/tfjs");
  const wasm = require("@tensorflow/tfjs-backend-wasm");
  wasm.setWasmPaths(join(dirname(require.resolve("@tensorflow/tfjs-backend-wasm/package.json")), "dist") + "/");
  wasm.setThreadsCount(1);
  await tf.setBackend("wasm");
  await tf.ready();
  if (tf.getBackend() !== "wasm") throw new Error("its WebAssembly backend does not start");
  for (const one of task.cases) {
    const [x, y] = [tf.tensor2d(one.obs, [task.batch, 4]), tf.tensor2d(one.targets, [task.batch, 2])];
    const p = one.parameters.map(({ values, shape }) => tf.variable(tf.tensor(values, shape)));
    const optimizer = tf.train.adam(1e-3, 0.9, 0.999, 1e-8);
    const loss = () => {
      let h = x;
      for (let k = 0; k < p.length; k += 2) {
        h = tf.add(tf.matMul(h, p[k]), p[k + 1]);
        if (k + 2 < p.length) h = tf.tanh(h);
      }
      return tf.mean(tf.square(tf.sub(h, y)));
    };
    const run = () => optimizer.minimize(loss, true, p);
    const result = run();
    const first = result.dataSync()[0];
    result.dispose();
    const time = async (calls) => {
      const begin = performance.now();
      for (let k = 0; k < calls; k++) run().dispose();
      return (performance.now() - begin) * 1e6;
    };
    arms.push({ name: one.name, framework: task.tfjs, loss: first, time });
  }
}

for (const [name, add] of [[task.jax, jaxArms], [task.tfjs, tfArms]])
  try {
    await add();
  } catch (error) {
    skipped[name] = String(error?.message ?? error).slice(0, 300);
  }
say({ arms: arms.map(({ name, framework, loss }) => ({ name, framework, loss })), skipped });
`;

interface Answer {
  readonly arms: readonly { readonly name: string; readonly framework: string; readonly loss: number }[];
  readonly skipped: { readonly [name: string]: string };
}
interface Libraries extends Answer {
  readonly process: PeerProcess;
}

function describe({ name, inputs }: NnCase, { parameters }: NnSide): object {
  return {
    name,
    obs: [...(inputs.obs ?? [])],
    targets: [...(inputs.targets ?? [])],
    parameters: parameters.list.map((one) => ({ shape: one.shape, values: [...parameters.array(one.name)] })),
  };
}

async function startLibraries(recorder: Recorder, cases: readonly object[]): Promise<Libraries | undefined> {
  if (!recorder.options.peers) return undefined;
  try {
    const folder = await ensurePackages(recorder, { folder: "js", packages: PACKAGES, size: "100 MB" });
    const started = startScript(process.execPath, SCRIPT, recorder);
    const found = (await started.ask({ folder, cases, batch: BATCH, jax: JAX, tfjs: TFJS })) as Answer;
    for (const one of PACKAGES)
      recorder.version(one.slice(0, one.lastIndexOf("@")), one.slice(one.lastIndexOf("@") + 1));
    for (const [name, reason] of Object.entries(found.skipped)) recorder.skip(`peer ${name}`, reason);
    return { ...found, process: started };
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    recorder.skip("libraries of JavaScript", error.message);
    return undefined;
  }
}

const SAME_LOSS: Tolerance = { relative: 1e-4, absolute: 1e-5 };

/** Their arms of a workload whose first loss is ours. */
function remoteArms(recorder: Recorder, libraries: Libraries | undefined, name: string, loss: number): RemoteArm[] {
  return (libraries?.arms ?? []).flatMap((one, arm) => {
    const holds = (): void => gate(`${name} in ${one.framework}`, [one.loss], [loss], SAME_LOSS);
    if (one.name !== name || !recorder.passes(`${name} in ${one.framework}`, holds)) return [];
    return libraries ? [libraries.process.arm(arm, one.framework, 11)] : [];
  });
}

/** What is promised against both, by target. */
const BARS: {
  readonly [bench in BenchName]?: { readonly [framework: string]: { readonly [target: string]: number } };
} = {
  "MLP step 64x2": { [JAX]: { native: 10, wasm: 3 }, [TFJS]: { native: 30, wasm: 10 } },
  "MLP step 256x3": { [JAX]: { native: 4, wasm: 2 }, [TFJS]: { native: 20, wasm: 8 } },
};

export async function measureLibraries(recorder: Recorder, all: BenchTargets): Promise<void> {
  const targets = all.present;
  const made = (Object.keys(BARS) as BenchName[]).map((bench) => {
    const one = nnCase(bench, BATCH);
    return { bench, one, sides: targets.map((target) => one.make({ target })) };
  });
  const described = made.flatMap(({ one, sides }) => (sides[0] ? [describe(one, sides[0])] : []));
  const libraries = await startLibraries(recorder, described);
  try {
    for (const { bench, one, sides } of made) {
      for (const side of sides) side.run();
      const loss = sides[0]?.outputs().loss?.[0] ?? Number.NaN;
      const arms: Arm[] = [
        ...sides.map((side, k) => ({ framework: targets[k] as string, run: side.run })),
        ...remoteArms(recorder, libraries, one.name, loss),
      ];
      const params = { batch: BATCH };
      const samples = await recorder.workload({ name: one.name, category: "libraries", params, items: BATCH, arms });
      for (const [framework, limits] of Object.entries(BARS[bench] ?? {}))
        for (const [target, limit] of Object.entries(limits)) {
          const ratio = recorder.compare(`${one.name}/${target}`, samples, target, framework);
          const id = `${target}/${bench.replaceAll(" ", "-")}/${framework.split(" ")[0]}`;
          const reason = all.missing(target) ?? (recorder.options.peers ? `${framework} is missing` : "needs --peers");
          const what = `${one.name}, ${target}, against ${framework}`;
          recorder.bar({ id, what, relation: ">=", limit, unit: "x" }, ratio, reason);
        }
      for (const side of sides) side.program.dispose();
    }
  } finally {
    libraries?.process.close();
  }
}
