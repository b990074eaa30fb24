/**
 * @file WebAssembly in a Node whose V8 joins pairs of vectors to 256-bit ones, against WebAssembly in this one: the same
 * step, with the same bits.
 *
 * The other Node is installed with npm into `.peers/node` when peers are asked for.
 */
import { join } from "node:path";
import { EXACT, gate } from "../gate.ts";
import { ensurePackages, startScript } from "../packages.ts";
import { PeerError, type PeerProcess } from "../peers.ts";
import type { Recorder } from "../suite.ts";
import type { BenchTargets } from "../targets.ts";
import type { RemoteArm } from "../timing.ts";
import { nnCase } from "./nn-cases.ts";

const VERSION = "24.4.1";
const OTHER = "wasm on Node 24";
const [BENCH, BATCH] = ["PPO step", 1024] as const;
const BAR = {
  id: "wasm/node-24",
  what: `${BENCH} ${BATCH}, ${OTHER} against this Node`,
  relation: ">=",
  limit: 1.6,
  unit: "x",
} as const;

const SCRIPT = `
const { nnCase } = await import(task.cases);
const side = nnCase(task.bench, task.batch).make({ target: "wasm" });
side.run();
arms.push({ time: async (calls) => {
  const begin = performance.now();
  for (let k = 0; k < calls; k++) side.run();
  return (performance.now() - begin) * 1e6;
} });
say({ parameters: [...side.outputs().parameters] });
`;

/** npm has a package of Node for each platform. */
const packageOf = (platform: string, arch: string): string =>
  `node-${platform === "win32" ? "win" : platform}-${arch}@${VERSION}`;

async function start(recorder: Recorder): Promise<{ process: PeerProcess; parameters: readonly number[] }> {
  const wanted = packageOf(process.platform, process.arch);
  const folder = await ensurePackages(recorder, { folder: "node", packages: [wanted], size: "120 MB" });
  const binary = process.platform === "win32" ? "node.exe" : "node";
  const program = join(folder, "node_modules", wanted.slice(0, wanted.lastIndexOf("@")), "bin", binary);
  const started = startScript(program, SCRIPT, recorder);
  const cases = new URL("./nn-cases.js", import.meta.url).href;
  const answer = await started.ask({ cases, bench: BENCH, batch: BATCH });
  recorder.version("the other node", VERSION);
  return { process: started, ...(answer as { readonly parameters: readonly number[] }) };
}

export async function measureNewerNode(recorder: Recorder, targets: BenchTargets): Promise<void> {
  const unmet = (reason: string): void => recorder.bar(BAR, undefined, reason);
  const missing = targets.missing("wasm");
  if (missing || !recorder.options.peers) return unmet(missing ?? "needs --peers");
  if (Number(process.versions.node.split(".")[0]) >= 24) return unmet("this Node is as new");
  try {
    const other = await start(recorder);
    try {
      await compare(recorder, other.process.arm(0, OTHER, 41), other.parameters);
    } finally {
      other.process.close();
    }
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    recorder.skip(OTHER, error.message);
    unmet(error.message);
  }
}

async function compare(recorder: Recorder, other: RemoteArm, parameters: readonly number[]): Promise<void> {
  const side = nnCase(BENCH, BATCH).make({ target: "wasm" });
  side.run();
  const name = `${BENCH} ${BATCH}, two versions of Node`;
  const samples = await recorder.workload({
    name,
    category: "nn",
    params: { batch: BATCH },
    items: BATCH,
    arms: [{ framework: "wasm", run: side.run }, other],
    gate: () => gate(`parameters on ${OTHER}`, parameters, side.outputs().parameters ?? [], EXACT),
  });
  recorder.bar(BAR, recorder.compare("node-24", samples, OTHER, "wasm"));
  side.program.dispose();
  side.parameters.dispose();
}
