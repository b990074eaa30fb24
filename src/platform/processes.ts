/**
 * @file Which process this is, and whether another one still runs. Node only: its modules are reached at run time, so
 * that this file loads everywhere.
 */

/** A process, in a way that another one can ask about later. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** When the process began, where the system tells: numbers of processes are given again. */
  readonly began: string;
}

/** When a process began: ticks since the machine was started, and which start that was. Empty where it is not told. */
function beganOf(pid: number): string {
  const fs = globalThis.process?.getBuiltinModule?.("node:fs");
  try {
    const boot = fs?.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const facts = fs?.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may hold anything; the time is the 20th word behind it.
    const ticks = facts?.slice(facts.lastIndexOf(")") + 2).split(" ")[19];
    return boot && ticks ? `${boot} ${ticks}` : "";
  } catch {
    return "";
  }
}

/** This process; undefined where there are none, as in browsers. */
export function ownProcess(): ProcessIdentity | undefined {
  const os = globalThis.process?.getBuiltinModule?.("node:os");
  if (!os) return undefined;
  return { pid: process.pid, host: os.hostname(), began: beganOf(process.pid) };
}

/** Whether a process of this machine runs; of another machine's nothing is known. */
export function runs(other: ProcessIdentity): boolean | undefined {
  const own = ownProcess();
  if (own === undefined || other.host !== own.host) return undefined;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    // Processes of other users answer with a refusal: they are there.
    if ((error as { readonly code?: unknown }).code !== "EPERM") return false;
  }
  return other.began === "" || other.began === beganOf(other.pid);
}
