/**
 * @file Where things lie in memory: the page that the target keeps for itself, and a program's scratch region.
 *
 * The first page of the heap belongs to the target: no array may begin in it, which also lets constant parts of
 * subscripts go into instructions (see address.ts). It holds the words by which threads meet.
 */

/** Nothing lives below this address, nor within as much of the end of the largest possible memory. */
export const GUARD_BYTES = 65536;

/** Words of the first page that all threads of the process share. */
export const PROCESS = {
  /** 1 while a launch uses several threads. */
  busy: 1024,
  /** How many control blocks have been given out. */
  blocks: 1088,
  /** 1 while a thread compiles with flags of the engine that others should not see. */
  compiling: 1152,
  firstBlock: 2048,
} as const;

/** A control block: the words by which one JavaScript thread and its helpers meet, on cache lines of their own. */
export const CONTROL = {
  /** Number of the job: odd while it is open. Helpers sleep on it. */
  job: 0,
  /** The next piece to be taken. */
  next: 64,
  /** Helpers that are inside the job. */
  active: 128,
  /** Helpers that sleep. */
  sleepers: 192,
  /** Helpers that have started. */
  ready: 256,
  /** Helpers that have failed; the launch then fails too. */
  failed: 260,
  /** How often a helper has taken part in a job. */
  joined: 264,
  /** The job: which program, where its bytes are, which of its functions, on what. */
  program: 320,
  bytes: 324,
  byteLength: 328,
  joinedLength: 352,
  thunk: 332,
  frame: 336,
  stacks: 340,
  stackBytes: 344,
  /** How many helpers may join. */
  helpers: 348,
} as const;
export const CONTROL_BYTES = 512;
export const MAX_BLOCKS = Math.floor((GUARD_BYTES - PROCESS.firstBlock) / CONTROL_BYTES);

export const alignUp = (bytes: number, to: number): number => Math.ceil(bytes / to) * to;

/** Imported constants of a module, in this order. */
export const GLOBALS = ["scratch", "control"] as const;
export const SCRATCH_GLOBAL = 0;
export const CONTROL_GLOBAL = 1;

/** Words at the beginning of a threaded program's scratch region. */
export const SCRATCH_HEADER = { program: 0, byteLength: 4, joinedLength: 8, bytes: 64 } as const;

/** Where a program's scratch region keeps what, in bytes from its beginning. */
export interface ScratchLayout {
  readonly tables: number;
  readonly frame: number;
  readonly stacks: number;
  /** Bytes of one thread's stack. */
  readonly stackBytes: number;
  /** The modules themselves, for helpers to compile; they come last, as their lengths are known last. */
  readonly moduleBytes: number;
}

/** What code that launches on several threads is compiled for. */
export interface ThreadPlan {
  /** The caller's included. */
  readonly threads: number;
  readonly scratch: ScratchLayout;
  /** Scalar operations from which on a launch uses them. */
  readonly minOperations: number;
}
