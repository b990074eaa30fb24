/**
 * @file What a result was measured on: the machine, the system and the versions, without names or folders.
 */
import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";

export interface SystemBlock {
  readonly date: string;
  readonly machine: {
    readonly cpu: string;
    readonly architecture: string;
    readonly cores: number;
    readonly memory_gb: number;
    /** Load when the run began; empty on systems that have none. */
    readonly load: readonly number[];
  };
  readonly os: string;
  /** Versions of what took part, by name. */
  readonly versions: { readonly [name: string]: string };
}

/** The first line of `program --version`, undefined when it is not there. */
export function programVersion(program: string): string | undefined {
  try {
    const text = execFileSync(program, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return text.split("\n")[0]?.trim();
  } catch {
    return undefined;
  }
}

export function systemBlock(versions: { readonly [name: string]: string } = {}): SystemBlock {
  const compiler = programVersion("cc");
  return {
    date: new Date().toISOString(),
    machine: {
      cpu: cpus()[0]?.model.trim() ?? "unknown",
      architecture: process.arch,
      cores: availableParallelism(),
      memory_gb: Math.round(totalmem() / 2 ** 30),
      load: process.platform === "win32" ? [] : loadavg().map((x) => Math.round(x * 100) / 100),
    },
    os: `${type()} ${release()}`,
    versions: {
      node: process.versions.node,
      v8: process.versions.v8,
      ...(compiler === undefined ? {} : { cc: compiler }),
      ...versions,
    },
  };
}
