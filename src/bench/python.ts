/**
 * @file Peers in Python, timed in turns with our own arms: one script per suite, put behind a common beginning.
 *
 * A script registers arms: a function without arguments for the clock, and the arrays it computes for the gate. Then it
 * waits: whenever an arm's turn comes it runs a number of calls and says how long they took. Arrays travel as
 * hexadecimal bytes with their type. Python runs in a process of its own, on one thread unless the suite asks for more.
 */
import { storageIn, type TypedArray, viewArray } from "../ir/arrays.ts";
import { STORAGE_BYTES, type StorageType } from "../ir/types.ts";
import { gate, type Tolerance } from "./gate.ts";
import { ensurePeers, PEER_GROUPS, PeerError, type PeerGroupName, PeerProcess } from "./peers.ts";
import type { Recorder } from "./suite.ts";
import type { RemoteArm } from "./timing.ts";

/** `task` is the input, `arrays` what was handed over; `arm(...)` registers; `serve()` ends a script. */
const PRELUDE = `
import json, os, sys, time
wire = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
task = json.loads(sys.stdin.readline())
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = str(task["threads"])
if task["threads"] == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import numpy as np
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u32": np.uint32, "u8": np.uint8}
NAMES = {np.dtype(value): name for name, value in DTYPES.items()}
arrays = {name: np.frombuffer(bytes.fromhex(data), DTYPES[dtype]).copy() for name, (dtype, data) in task["arrays"].items()}
catalogue = {"arms": [], "versions": {"numpy": np.__version__}, "skipped": {}}
runs = []

def hexed(value):
    value = np.ascontiguousarray(value)
    if value.dtype not in NAMES:
        value = value.astype(np.float64)
    return [NAMES[value.dtype], value.tobytes().hex()]

def arm(name, framework, run, outputs=None, samples=None, before=None):
    """Registers run() for the clock; outputs maps names to arrays for the gate; slow arms may ask for fewer samples;
    before() is called before every run(), outside the clock."""
    out = {key: hexed(value) for key, value in (outputs or {}).items()}
    print(framework, name, file=sys.stderr)
    catalogue["arms"].append({"name": name, "framework": framework, "outputs": out, "samples": samples})
    runs.append((run, before))

def package(name):
    """Imports a package and notes its version; None, and a note, when it is not there."""
    try:
        module = __import__(name)
        catalogue["versions"][name] = getattr(module, "__version__", "unknown")
        return module
    except Exception as error:
        catalogue["skipped"][name] = str(error)
        return None

def taken(entry, calls):
    run, before = entry
    if before and calls > 1: return sum(taken(entry, 1) for _ in range(calls))
    if before: before()
    span = range(calls)
    begin = time.perf_counter_ns()
    for _ in span: run()
    return time.perf_counter_ns() - begin

def say(value):
    wire.write(json.dumps(value) + "\\n")
    wire.flush()

def serve():
    """Says what there is, then answers turns until the input ends."""
    say(catalogue)
    for line in sys.stdin:
        turn = json.loads(line)
        entry = runs[turn["arm"]]
        say([taken(entry, 1) for _ in range(turn["calls"])] if turn["each"] else taken(entry, turn["calls"]))
`;

type WireArray = readonly [dtype: StorageType, hex: string];

function toWire(array: TypedArray): WireArray {
  const storage = storageIn(array);
  if (storage === undefined) throw new PeerError("an array of this type cannot be handed over");
  return [storage, Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex")];
}
function fromWire([dtype, hex]: WireArray): TypedArray {
  const bytes = Uint8Array.from(Buffer.from(hex, "hex"));
  return viewArray(dtype, bytes.buffer, 0, bytes.length / STORAGE_BYTES[dtype]);
}

interface WireArm {
  readonly name: string;
  readonly framework: string;
  readonly outputs: { readonly [name: string]: WireArray };
  readonly samples: number | null;
}
interface Catalogue {
  readonly arms: readonly WireArm[];
  readonly versions: { readonly [name: string]: string };
  readonly skipped: { readonly [name: string]: string };
}

/** What a suite asks of Python. */
export interface PythonTask {
  readonly group: PeerGroupName;
  /** Python that calls `arm(name, framework, run, outputs)` for each arm, and `serve()` at the end. */
  readonly script: string;
  /** Handed over as numpy arrays. */
  readonly arrays: { readonly [name: string]: TypedArray };
  /** Further input, under `task`. */
  readonly input?: { readonly [name: string]: unknown };
  readonly threads?: number;
}

/** What the peers' outputs are held against before their figures count. */
export interface Expected {
  readonly outputs: { readonly [output: string]: ArrayLike<number> };
  /** One for all frameworks, or by framework. */
  readonly tolerance: Tolerance | ((framework: string) => Tolerance);
}

/** Arms that wait in Python for their turns. */
export class PythonPeers {
  readonly #recorder: Recorder;
  readonly #process: PeerProcess | undefined;
  readonly #arms: readonly WireArm[];

  constructor(recorder: Recorder, started?: { readonly process: PeerProcess; readonly arms: readonly WireArm[] }) {
    this.#recorder = recorder;
    this.#process = started?.process;
    this.#arms = started?.arms ?? [];
  }

  /** The arms of a workload whose outputs are those expected; the others are noted as failed. */
  arms(name: string, expected: Expected): readonly RemoteArm[] {
    return this.#arms.flatMap((arm, index) =>
      this.#process && arm.name === name && this.#holds(arm, expected)
        ? [this.#process.arm(index, arm.framework, arm.samples ?? undefined)]
        : [],
    );
  }
  #holds({ name, framework, outputs }: WireArm, expected: Expected): boolean {
    const { tolerance } = expected;
    return this.#recorder.passes(`${name} in ${framework}`, () => {
      for (const [output, wanted] of Object.entries(expected.outputs)) {
        const found = outputs[output];
        const limit = typeof tolerance === "function" ? tolerance(framework) : tolerance;
        gate(`${name}.${output} in ${framework}`, found ? fromWire(found) : [], wanted, limit);
      }
    });
  }

  close(): void {
    this.#process?.close();
  }
}

/** The Python of a group; undefined where peers are not asked for or, with a note, cannot be had. */
export async function pythonOf(recorder: Recorder, group: PeerGroupName): Promise<string | undefined> {
  if (!recorder.options.peers) return undefined;
  try {
    return await ensurePeers(PEER_GROUPS[group], { root: process.cwd(), say: (line) => recorder.say(line) });
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    recorder.skip(`peers of the group ${group}`, error.message);
    return undefined;
  }
}

/** Starts a suite's script; no arms where peers are not asked for, or, with a note, where that is not possible. */
export async function startPython(recorder: Recorder, task: PythonTask): Promise<PythonPeers> {
  const python = await pythonOf(recorder, task.group);
  if (python === undefined) return new PythonPeers(recorder);
  const arrays = Object.fromEntries(Object.entries(task.arrays).map(([name, array]) => [name, toWire(array)]));
  try {
    const started = new PeerProcess(python, PRELUDE + task.script, (line) => recorder.say(line));
    const found = (await started.ask({ ...task.input, threads: task.threads ?? 1, arrays })) as Catalogue;
    for (const [name, version] of Object.entries(found.versions)) recorder.version(name, version);
    for (const [name, reason] of Object.entries(found.skipped)) recorder.skip(`peer ${name}`, reason);
    return new PythonPeers(recorder, { process: started, arms: found.arms });
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    recorder.skip(`peers of the group ${task.group}`, error.message);
    return new PythonPeers(recorder);
  }
}
