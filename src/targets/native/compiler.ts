/**
 * @file The system's C compiler: finding it, asking it once what it compiles for, and running it.
 *
 * One run with `-dM -E` tells version and machine features from the predefined macros. The answer is kept in the
 * cache folder under a fingerprint of the compiler's file and of the processor, so that later starts run no process.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from "node:fs";
import { cpus } from "node:os";
import { delimiter, join } from "node:path";
import { NativeBuildError, NativeUnavailableError } from "./errors.ts";

export interface Compiler {
  readonly path: string;
  /** From `CC="ccache gcc -march=x86-64-v3"`: words before all flags, and flags after all of ours. */
  readonly words: readonly string[];
  readonly flags: readonly string[];
  readonly family: "gcc" | "clang";
  readonly version: string;
  /** `-march=native`, its substitute, or nothing where the compiler knows none. */
  readonly machineFlags: readonly string[];
  /** Feature macros of the machine, for people. */
  readonly features: readonly string[];
  /** Identifies version and features in cache keys. */
  readonly identity: string;
  readonly vectorBytes: number;
  readonly vectorRegisters: number;
  readonly fastFma: boolean;
}

/** Where probe results are kept. */
export interface ProbeStore {
  readText(name: string): string | undefined;
  writeText(name: string, text: string): void;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Located = Pick<Compiler, "path" | "words" | "flags">;

const MACHINE_FLAGS: readonly (readonly string[])[] = [["-march=native"], ["-mcpu=native"], []];
const BUILD_SECONDS = 300;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function locate(command: string, env: Environment): string | undefined {
  if (command.includes("/")) return isExecutable(command) ? command : undefined;
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

/** The compiler to use: `CC` alone when it is set, otherwise the first of cc, gcc, clang. */
export function locateCompiler(env: Environment): Located {
  const wanted = env.CC?.trim().split(/\s+/).filter(Boolean) ?? [];
  const candidates = wanted.length ? [wanted] : [["cc"], ["gcc"], ["clang"]];
  for (const [command = "", ...args] of candidates) {
    const path = locate(command, env);
    const flags = args.findIndex((word) => word.startsWith("-"));
    const split = flags === -1 ? args.length : flags;
    if (path !== undefined) return { path, words: args.slice(0, split), flags: args.slice(split) };
  }
  const tried = candidates.map((c) => c[0]).join(", ");
  throw new NativeUnavailableError(`no C compiler found (looked for ${tried}); install gcc or clang, or set CC`);
}

/** What tells one processor from another, cheaply: the head of /proc/cpuinfo, or the model's name. */
function processor(): string {
  if (process.platform !== "linux") return cpus()[0]?.model ?? "unknown";
  try {
    const file = openSync("/proc/cpuinfo", "r");
    try {
      const head = Buffer.alloc(8192);
      const text = head.toString("latin1", 0, readSync(file, head, 0, head.length, 0));
      const wanted = /^(model name|flags|Features|CPU implementer|CPU part|isa|uarch)\s*:.*$/;
      const first = text.split(/\n\n/)[0] ?? "";
      return first
        .split("\n")
        .filter((line) => wanted.test(line))
        .join("\n");
    } finally {
      closeSync(file);
    }
  } catch {
    return cpus()[0]?.model ?? "unknown";
  }
}

function fingerprintOf(found: Located): string {
  const real = realpathSync(found.path);
  const { size, mtimeMs } = statSync(real);
  const parts = [
    found.path,
    real,
    size,
    mtimeMs,
    found.words,
    found.flags,
    process.platform,
    process.arch,
    processor(),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

function run(
  path: string,
  args: readonly string[],
  input: string,
): { readonly fine: boolean; readonly output: string; readonly text: string } {
  const result = spawnSync(path, args, { input, encoding: "utf8", timeout: BUILD_SECONDS * 1000, maxBuffer: 1 << 26 });
  // A compiler that stops before it has read everything has its own words for why.
  const error = (result.error as NodeJS.ErrnoException | undefined)?.code === "EPIPE" ? undefined : result.error;
  return {
    fine: result.status === 0 && !error,
    output: `${error ? `${error.message}\n` : ""}${result.stderr ?? ""}`,
    text: result.stdout ?? "",
  };
}

/** The machine as the predefined macros describe it. */
function describe(macros: ReadonlyMap<string, string>): Pick<Compiler, "vectorBytes" | "vectorRegisters" | "fastFma"> {
  const has = (name: string): boolean => macros.has(name);
  if (has("__x86_64__")) {
    const wide = ["__AVX512F__", "__AVX512VL__", "__AVX512BW__", "__AVX512DQ__"].every(has);
    const vectorBytes = wide ? 64 : has("__AVX2__") ? 32 : 16;
    return { vectorBytes, vectorRegisters: wide ? 32 : 16, fastFma: has("__FMA__") };
  }
  if (has("__aarch64__")) return { vectorBytes: 16, vectorRegisters: 32, fastFma: true };
  return { vectorBytes: 0, vectorRegisters: 0, fastFma: false };
}

/** Turns the output of `-dM -E` into a description; undefined when it does not look like gcc or clang. */
export function readMacros(text: string): Omit<Compiler, keyof Located | "machineFlags"> | undefined {
  const macros = new Map<string, string>();
  for (const line of text.split("\n")) {
    const found = /^#define (\w+) ?(.*)$/.exec(line);
    if (found) macros.set(found[1] as string, found[2] as string);
  }
  if (!macros.has("__GNUC__")) return undefined;
  const feature = /^__(AVX|SSE|FMA|F16C|BMI|LZCNT|POPCNT|ARM_FEATURE|ARM_NEON|aarch64|x86_64|riscv)\w*__$/;
  const family = macros.has("__clang__") ? "clang" : "gcc";
  const version = (macros.get(family === "clang" ? "__clang_version__" : "__VERSION__") ?? "").replace(/"/g, "").trim();
  return {
    family,
    version: `${family} ${version}`,
    features: [...macros.keys()].filter((name) => feature.test(name)).sort(),
    identity: createHash("sha256")
      .update(
        [...macros]
          .map((m) => m.join(" "))
          .sort()
          .join("\n"),
      )
      .digest("hex"),
    ...describe(macros),
  };
}

function probe(found: Located): Compiler {
  let output = "";
  for (const machineFlags of MACHINE_FLAGS) {
    const result = run(found.path, [...found.words, ...machineFlags, ...found.flags, "-dM", "-E", "-x", "c", "-"], "");
    const known = result.fine ? readMacros(result.text) : undefined;
    if (known) return { ...found, machineFlags, ...known };
    output = result.output;
  }
  throw new NativeBuildError(`${found.path} does not behave like gcc or clang`, output);
}

/** A kept description; undefined when there is none or it is damaged. */
function parseCompiler(text: string | undefined): Compiler | undefined {
  try {
    const kept = JSON.parse(text ?? "null") as Partial<Compiler> | null;
    const whole =
      kept && typeof kept.identity === "string" && Array.isArray(kept.machineFlags) && Array.isArray(kept.flags);
    return whole ? (kept as Compiler) : undefined;
  } catch {
    return undefined;
  }
}

/** The compiler with its properties; from the store when it was asked before. */
export function findCompiler(env: Environment, store: ProbeStore): Compiler {
  const found = locateCompiler(env);
  const fingerprint = fingerprintOf(found);
  const name = `compiler-${fingerprint}.json`;
  const kept = parseCompiler(store.readText(name));
  if (kept) return kept;
  const compiler = probe(found);
  store.writeText(name, JSON.stringify(compiler));
  return compiler;
}

const GCC_FLAGS = [
  // What these passes look for, the IR's own have found: without them gcc takes a third less time for the same code.
  ...["-fno-tree-pre", "-fno-gcse", "-fno-tree-vrp", "-fno-expensive-optimizations"],
  // gcc 12 gets `r[i] = x[i] != 0` over the lanes of a vector wrong (-1 for 1) when it vectorises straight code, and
  // makes -x of 0.0 - x where it can tell that x is not -0, though 0 - 0 is no -0.
  ...["-fno-tree-slp-vectorize", "-frounding-math"],
] as const;

/**
 * Flags of every build. IEEE arithmetic to the letter (no fast-math, no contraction); what is given up is only
 * traps and errno, which nothing here observes. Signed integers wrap, as they do in the IR.
 */
export function buildFlags(compiler: Compiler): readonly string[] {
  const linux = process.platform === "linux";
  return [
    "-std=gnu11",
    // Loops come vectorised and unrolled: -O3 finds nothing more and takes a quarter longer.
    "-O2",
    // A short loop that straddles two lines of the instruction cache can take half as long again.
    "-falign-loops=64",
    ...compiler.machineFlags,
    ...(compiler.vectorBytes === 64 ? ["-mprefer-vector-width=512"] : []),
    ...(compiler.family === "gcc" ? GCC_FLAGS : []),
    "-fno-trapping-math",
    "-fno-math-errno",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-w",
    // A library's threads or code may be in use when the JavaScript thread that loaded it ends.
    ...(linux ? ["-Wl,-z,nodelete"] : []),
  ];
}

/** Compiles C source to a shared library at `target`. */
export function build(compiler: Compiler, source: string, flags: readonly string[], target: string): void {
  const result = run(
    compiler.path,
    [...compiler.words, ...flags, ...compiler.flags, "-x", "c", "-", "-o", target, "-lm"],
    source,
  );
  if (!result.fine)
    throw new NativeBuildError(`${compiler.path} (${compiler.version}) could not compile a program`, result.output);
}
