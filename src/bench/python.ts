/**
 * @file Peers in Python, measured as our own arms are: one script per suite, put behind a common beginning.
 *
 * A script registers arms: a function without arguments for the clock, and the arrays it computes for the gate. Arrays
 * travel as hexadecimal bytes with their type. Python runs in a process of its own, on one thread unless the suite
 * asks for more, before or after our arms and never at the same time.
 */
import { storageIn, type TypedArray, viewArray } from "../ir/arrays.ts";
import { STORAGE_BYTES, type StorageType } from "../ir/types.ts";
import { gate, type Tolerance } from "./gate.ts";
import { ensurePeers, PEER_GROUPS, PeerError, type PeerGroupName, runPeer } from "./peers.ts";
import type { Params } from "./result.ts";
import type { Recorder } from "./suite.ts";

/** `task` is the input, `arrays` what was handed over; `arm(...)` measures; `finish()` prints. */
const PRELUDE = `
import json, os, sys, time
task = json.load(sys.stdin)
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = str(task["threads"])
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import numpy as np
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u32": np.uint32, "u8": np.uint8}
NAMES = {np.dtype(value): name for name, value in DTYPES.items()}
arrays = {name: np.frombuffer(bytes.fromhex(data), DTYPES[dtype]).copy() for name, (dtype, data) in task["arrays"].items()}
result = {"arms": [], "versions": {"numpy": np.__version__}, "skipped": {}}

def hexed(value):
    value = np.ascontiguousarray(value)
    if value.dtype not in NAMES:
        value = value.astype(np.float64)
    return [NAMES[value.dtype], value.tobytes().hex()]

def sampled(run):
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

def each_call(run, calls):
    for _ in range(calls // 10): run()
    found = []
    for _ in range(calls):
        start = time.perf_counter_ns()
        run()
        found.append(time.perf_counter_ns() - start)
    return found

def arm(name, framework, run, outputs=None, calls=None):
    """Measures run(); outputs maps names to arrays for the gate; with calls, every call is timed by itself."""
    out = {key: hexed(value) for key, value in (outputs or {}).items()}
    print(framework, name, file=sys.stderr)
    ns = each_call(run, calls) if calls else sampled(run)
    result["arms"].append({"name": name, "framework": framework, "ns": ns, "outputs": out})

def package(name):
    """Imports a package and notes its version; None, and a note, when it is not there."""
    try:
        module = __import__(name)
        result["versions"][name] = getattr(module, "__version__", "unknown")
        return module
    except Exception as error:
        result["skipped"][name] = str(error)
        return None

def finish():
    print(json.dumps(result))
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
  readonly ns: readonly number[];
  readonly outputs: { readonly [name: string]: WireArray };
}
interface WireResult {
  readonly arms: readonly WireArm[];
  readonly versions: { readonly [name: string]: string };
  readonly skipped: { readonly [name: string]: string };
}

/** What a suite asks of Python. */
export interface PythonTask {
  readonly group: PeerGroupName;
  /** Python that calls `arm(name, framework, run, outputs)` for each arm, and `finish()` at the end. */
  readonly script: string;
  /** Handed over as numpy arrays. */
  readonly arrays: { readonly [name: string]: TypedArray };
  /** Further input, under `task`. */
  readonly input?: { readonly [name: string]: unknown };
  readonly threads?: number;
}

/** One arm that was measured in Python. */
export interface PythonArm {
  readonly name: string;
  readonly framework: string;
  readonly ns: readonly number[];
  readonly outputs: { readonly [name: string]: TypedArray };
}

/** The arms that Python measured; none, and a note in the report, where that is not possible. */
export async function measureInPython(recorder: Recorder, task: PythonTask): Promise<readonly PythonArm[]> {
  const say = (line: string): void => recorder.say(line);
  const arrays = Object.fromEntries(Object.entries(task.arrays).map(([name, array]) => [name, toWire(array)]));
  const input = { ...task.input, ...recorder.timing, threads: task.threads ?? 1, arrays };
  let result: WireResult;
  try {
    const python = await ensurePeers(PEER_GROUPS[task.group], { root: process.cwd(), say });
    result = (await runPeer(python, PRELUDE + task.script, input, say)) as WireResult;
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    recorder.skip(`peers of the group ${task.group}`, error.message);
    return [];
  }
  for (const [name, version] of Object.entries(result.versions)) recorder.version(name, version);
  for (const [name, reason] of Object.entries(result.skipped)) recorder.skip(`peer ${name}`, reason);
  return result.arms.map(({ outputs, ...arm }) => ({
    ...arm,
    outputs: Object.fromEntries(Object.entries(outputs).map(([name, wire]) => [name, fromWire(wire)])),
  }));
}

/** What an arm is held against before its figures count. */
export interface PeerRow {
  readonly category: string;
  readonly params: Params;
  readonly items: number;
  readonly expected: { readonly [output: string]: ArrayLike<number> };
  readonly tolerance: Tolerance;
}

/** Records a peer's row when its outputs are those expected; whether they are. */
export function recordPeer(recorder: Recorder, arm: PythonArm, row: PeerRow): boolean {
  const { name, framework, ns } = arm;
  const { category, params, items } = row;
  const check = (): void => {
    for (const [output, expected] of Object.entries(row.expected))
      gate(`${name}.${output} in ${framework}`, arm.outputs[output] ?? [], expected, row.tolerance);
  };
  return recorder.external({ name, category, framework, params, items, ns, gate: check });
}
