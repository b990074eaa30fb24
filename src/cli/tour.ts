/**
 * @file `lockstep tour`: one kernel on every target found here, its source, results and speeds side by side.
 */
import type { Command } from "commander";
import { formatCount } from "../bench/report.ts";
import { type Arm, measure } from "../bench/timing.ts";
import { f32, type Intrinsics } from "../kernel/declare.ts";
import { allocate, kernel } from "../kernel/kernel.ts";
import { availability, chooseTarget, TARGET_NAMES } from "../runtime/targets.ts";
import { median } from "../stats/index.ts";
import type { TargetName } from "../targets/target.ts";
import { columns, type Style, styleFor, wrap } from "./text.ts";

const LINE = 80;
const N = 16384;
const TIMING = { samples: 9, sampleNs: 4e6, warmUpNs: 60e6 };

/** A pendulum's step: the kind of work an environment is made of. */
const swing = kernel(
  { theta: f32.array(), speed: f32.array(), torque: f32.array() },
  ({ theta, speed, torque }, { parallel }) => {
    parallel(theta.length, (i) => {
      const push = Math.min(Math.max(torque[i]!, -2), 2);
      const faster = speed[i]! + (15 * Math.sin(theta[i]!) + 3 * push) * 0.05;
      speed[i] = Math.min(Math.max(faster, -8), 8);
      theta[i] = theta[i]! + speed[i]! * 0.05;
    });
  },
  { name: "swing" },
);

interface Row {
  readonly target: TargetName;
  readonly compileMs: number;
  readonly checksum: string;
  readonly sample: string;
  readonly run: () => void;
}

/** A short digest of an array's bits. */
function bitsOf(array: Float32Array): string {
  const words = new Uint32Array(array.buffer, array.byteOffset, array.length);
  let digest = 0x811c9dc5;
  for (const word of words) digest = Math.imul(digest ^ word, 0x01000193) >>> 0;
  return digest.toString(16).padStart(8, "0");
}

function tryTarget(target: TargetName): Row {
  const [theta, speed, torque] = [allocate(f32, N), allocate(f32, N), allocate(f32, N)];
  for (let i = 0; i < N; i++) {
    theta[i] = Math.sin(i) * 3;
    torque[i] = Math.cos(i) * 3;
  }
  const begin = performance.now();
  const run = swing.on(target).bind({ theta, speed, torque });
  run();
  const compileMs = performance.now() - begin;
  for (let k = 1; k < 100; k++) run();
  const sample = Array.from(theta.subarray(0, 2), (x) => x.toFixed(6)).join(" ");
  return { target, compileMs, checksum: bitsOf(theta), sample, run };
}

/** The function itself, run as JavaScript on plain arrays: doubles, one iteration after the other. */
function rawArm(): Arm {
  const arrays = { theta: new Float32Array(N), speed: new Float32Array(N), torque: new Float32Array(N) };
  for (let i = 0; i < N; i++) arrays.theta[i] = Math.sin(i) * 3;
  const parallel = (count: number, body: (i: number) => void): void => {
    for (let i = 0; i < count; i++) body(i);
  };
  return { framework: "raw", run: () => swing.raw(arrays, { parallel } as Intrinsics) };
}

function resultTable(rows: readonly Row[], speeds: ReadonlyMap<string, readonly number[]>): string[] {
  const perSecond = (framework: string): number => (N * 1e9) / median(speeds.get(framework) ?? [Number.NaN]);
  const raw = perSecond("raw");
  const cells = rows.map((row) => [
    row.target,
    `${row.compileMs.toFixed(0)} ms`,
    row.sample,
    row.checksum,
    `${formatCount(perSecond(row.target))} steps/s`,
    `${(perSecond(row.target) / raw).toFixed(1)}x`,
  ]);
  const head = ["target", "compile", "first results", "bits", "speed", "vs raw"];
  const last = ["raw", "-", "not compiled, doubles", "-", `${formatCount(raw)} steps/s`, "1.0x"];
  return columns([head, ...cells, last], [1, 4, 5]);
}

async function tour(style: Style): Promise<string[]> {
  const rows: Row[] = [];
  const missing: string[] = [];
  for (const target of TARGET_NAMES) {
    const found = availability(target);
    if (found.target) rows.push(tryTarget(target));
    else missing.push(wrap(`${target} is not available: ${found.reason}`, LINE));
  }
  const arms = rows.map(({ target, run }): Arm => ({ framework: target, run }));
  const [head = "", ...table] = resultTable(rows, await measure([...arms, rawArm()], TIMING));
  const equal = new Set(rows.map((row) => row.checksum)).size === 1;
  const verdict = equal ? style.good("the same bits on every target") : style.bad("targets differ: this is a bug");
  const choice = chooseTarget();
  return [
    style.bold(`One function, ${N} pendulums, 100 steps:`),
    "",
    ...swing.raw.toString().split("\n"),
    "",
    style.dim(head),
    ...table,
    ...missing,
    "",
    `Result: ${verdict}.`,
    wrap(`A plain call uses ${choice.target.name}: ${choice.why}.`, LINE),
    "",
    "lockstep doctor           what was found here",
    "lockstep bench kernels    measured against hand-written C and JavaScript",
  ];
}

export function addTour(program: Command): void {
  program
    .command("tour")
    .description("one kernel on every target found here, side by side")
    .action(async () => {
      process.stdout.write(`${(await tour(styleFor(process.stdout))).join("\n")}\n`);
    });
}
