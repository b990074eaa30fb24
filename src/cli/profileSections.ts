/**
 * @file The seven sections of a profile: what each shows, whatever it is written as.
 */
import { formatCount, formatSeconds, formatShare, formatValue, grouped, sharesChart } from "../charts/index.ts";
import {
  bottlenecksOf,
  type Facts,
  factsOf,
  LAYER_TITLES,
  type Layer,
  layersOf,
  type Measured,
  type ProfiledRun,
} from "../train/profile.ts";
import { type Recommendation, recommendationsFor } from "../train/profileAdvice.ts";

const MOST_KERNELS = 10;
const CHART_WIDTH = 640;

/** What a section consists of, whatever it is written as. */
export type Block =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | {
      readonly kind: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
      /** Columns with numbers. */
      readonly right: readonly number[];
    }
  /** A picture stands in pages only: what it shows stands in a table, too. */
  | { readonly kind: "chart"; readonly svg: string };
export interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
}

/** A profile with everything that follows from it. */
export interface ProfileReport {
  readonly facts: Facts;
  readonly layers: readonly Layer[];
  readonly bottlenecks: readonly string[];
  readonly recommendations: readonly Recommendation[];
}

export function profileReport(measured: Measured): ProfileReport {
  const facts = factsOf(measured);
  return {
    facts,
    layers: layersOf(measured.phases),
    bottlenecks: bottlenecksOf(facts),
    recommendations: recommendationsFor(facts),
  };
}

const text = (words: string): Block => ({ kind: "text", text: words });
const percent = (value: number): string => `${value.toFixed(1)} %`;
const count = (value: number): string => grouped(value, Number.isInteger(value) ? 0 : 2);
const plural = (value: number, what: string): string => `${count(value)} ${what}${value === 1 ? "" : "s"}`;

function timingBlocks({ facts: { measured }, layers }: ProfileReport): Block[] {
  const { whole, split } = measured;
  const { n_envs, n_steps } = measured.settings;
  const runs: [string, ProfiledRun][] = [
    ...(whole ? ([["one program", whole]] as [string, ProfiledRun][]) : []),
    ["in phases", split],
  ];
  const rows: [string, (run: ProfiledRun) => string][] = [
    ["wall", (run) => formatSeconds(run.wall_s)],
    ["init (making and compiling)", (run) => formatSeconds(run.init_s)],
    ["training", (run) => formatSeconds(run.train_s)],
    ["records and the end", (run) => formatSeconds(run.other_s)],
    ["steps per second, of training", (run) => formatCount(run.steps_per_s)],
    ["steps per second, of wall", (run) => formatCount(measured.steps / run.wall_s)],
    ["iteration, median", (run) => formatSeconds(run.iteration_ms / 1000)],
    ["iteration, the first", (run) => formatSeconds(run.first_iteration_ms / 1000)],
  ];
  const tracked = layers.reduce((sum, { seconds }) => sum + seconds, 0);
  return [
    text(
      `${count(measured.steps)} steps in ${plural(measured.iterations, "iteration")} of ${n_envs} environments x ` +
        `${n_steps} steps${whole ? ", twice: an iteration as one program, as training runs it, and" : ""} in phases ` +
        "that are measured.",
    ),
    {
      kind: "table",
      head: ["", ...runs.map(([name]) => name)],
      rows: rows.map(([name, of]) => [name, ...runs.map(([, run]) => of(run))]),
      right: runs.map((_, k) => k + 1),
    },
    ...(whole ? [text("The first of them also warms up what makes and compiles programs.")] : []),
    text(`The phases of the ${whole ? "second " : ""}run sum to the time of its training: ${formatSeconds(tracked)}.`),
    {
      kind: "table",
      head: ["phase", "time", "share"],
      rows: [
        ...layers.map(({ layer, seconds, percent: share }) => [layer, formatSeconds(seconds), percent(share)]),
        ["all phases", formatSeconds(tracked), percent(100)],
      ],
      right: [1, 2],
    },
  ];
}

function benchmarkBlocks({ facts: { measured } }: ProfileReport): Block[] {
  return [
    text(`One call each, on ${measured.target}: the median of many samples, and their middle half.`),
    {
      kind: "table",
      head: ["operation", "us", "middle half"],
      rows: measured.benchmarks.map(({ name, median_us, p25_us, p75_us }) => [
        name,
        formatValue(median_us),
        `${formatValue(p25_us)} to ${formatValue(p75_us)}`,
      ]),
      right: [1, 2],
    },
  ];
}

function crossingBlocks({ facts: { calls, measured } }: ProfileReport): Block[] {
  const { per_operation: each } = calls;
  const native = each.environment_steps + each.gae;
  const counted: string[][] = [
    ...(calls.whole === null ? [] : [["one program (counted)", count(calls.whole)]]),
    ["in phases (counted)", count(calls.split)],
    ["a call per operation", count(each.total)],
    ...(calls.per_kernel === null ? [] : [["a call per kernel", count(calls.per_kernel)]]),
  ];
  return [
    text("How often JavaScript calls compiled code in an iteration, and how often other designs would have to."),
    { kind: "table", head: ["design", "calls"], rows: counted, right: [1] },
    text(
      `A call per operation is ${each.environment_steps} steps of the environments and ${each.gae} of GAE ` +
        `(${native}), ${each.actions} passes of the policy, ${each.values} of the values and ${each.updates} ` +
        `gradient steps of ${measured.settings.batch_size} rows.`,
    ),
  ];
}

function layerBlocks({ facts: { measured }, layers }: ProfileReport): Block[] {
  const { iterations, settings } = measured;
  /** How often a layer runs in an iteration: steps of all environments, passes of the policy, gradient steps. */
  const runs: { readonly [layer: string]: number } = {
    environment: settings.n_steps,
    policy: settings.n_steps,
    gae: 1,
    update: settings.updates,
  };
  const rows = layers.map(({ layer, seconds, percent: share }) => {
    const ms = (seconds / iterations) * 1000;
    const each = runs[layer];
    return [
      LAYER_TITLES[layer],
      formatValue(ms),
      each === undefined ? "-" : formatValue((ms / each) * 1000),
      percent(share),
    ];
  });
  const total = layers.reduce((sum, { seconds }) => sum + seconds, 0);
  return [
    {
      kind: "table",
      head: ["layer", "ms per iteration", "us each", "share"],
      rows: [...rows, ["total", formatValue((total / iterations) * 1000), "-", percent(100)]],
      right: [1, 2, 3],
    },
    {
      kind: "chart",
      svg: sharesChart({
        title: "Time per layer",
        shares: layers.map(({ layer, seconds }) => ({ label: LAYER_TITLES[layer], value: seconds })),
        format: formatSeconds,
        width: CHART_WIDTH,
      }),
    },
    text(
      `Each: one of ${settings.n_steps} steps of all environments, of as many passes of the policy, of ` +
        `${plural(settings.updates, "gradient step")}.`,
    ),
    ...kernelBlocks(measured),
  ];
}

function kernelBlocks({ kernels, whole, phases, iterations }: Measured): Block[] {
  if (kernels === null) return [];
  const total = kernels.reduce((sum, { us }) => sum + us, 0);
  const top = [...kernels].sort((a, b) => b.us - a.us).slice(0, MOST_KERNELS);
  const shown = top.reduce((sum, { us }) => sum + us, 0);
  const program = whole ? whole.iteration_ms / 1000 : phases.update / iterations;
  return [
    text(
      `The program of the ${whole ? "iteration" : "update"} has ${plural(kernels.length, "kernel")}. Run one by one ` +
        `they take ${formatSeconds(total / 1e6)}, the program ${formatSeconds(program)}; the ${top.length} largest ` +
        `have ${formatShare(shown / total)} of it.`,
    ),
    {
      kind: "table",
      head: ["#", "kernel", "shape", "runs", "us", "share"],
      rows: top.map(({ place, what, shape, runs, us }) => [
        String(place),
        shortened(what),
        shape,
        String(runs),
        formatValue(us),
        formatShare(us / total),
      ]),
      right: [0, 3, 4, 5],
    },
  ];
}
/** What a kernel does, in what is left of a line. */
const shortened = (what: string): string => (what.length > 28 ? `${what.slice(0, 25)}...` : what);

function bottleneckBlocks({ bottlenecks }: ProfileReport): Block[] {
  if (bottlenecks.length > 0) return [{ kind: "list", items: bottlenecks }];
  return [text("No layer has a quarter of the time, and nothing else stands out.")];
}

function adviceBlocks({ recommendations }: ProfileReport): Block[] {
  return [
    text("Drawn by rules from the figures above; each names the one that led to it."),
    {
      kind: "list",
      items: recommendations.map(({ priority, finding, advice }) => `${priority}: ${advice}. Measured: ${finding}.`),
    },
  ];
}

function summaryBlocks({ facts, layers, recommendations }: ProfileReport): Block[] {
  const { measured, share, calls } = facts;
  const run = measured.whole ?? measured.split;
  const [largest] = [...layers].sort((a, b) => b.share - a.share);
  const calling = calls.whole ?? calls.split;
  const urgent = recommendations.filter(({ priority }) => priority === "High").length;
  return [
    {
      kind: "list",
      items: [
        `${measured.algo} on ${measured.env}: ${count(measured.steps)} steps in ${formatSeconds(run.wall_s)}, ` +
          `${formatCount(run.steps_per_s)} steps per second of training.`,
        `${plural(calling, "call")} of compiled code in an iteration, where one per operation would be ` +
          `${count(calls.per_operation.total)}.`,
        `Networks (policy forward and update) take ${formatShare(share.policy + share.update)}, environment and GAE ` +
          `${formatShare(share.environment + share.gae)}, all else ${formatShare(share.other)}.`,
        `The largest layer is ${LAYER_TITLES[largest?.layer ?? "other"]}, ${formatShare(largest?.share ?? 0)}.`,
        `${plural(recommendations.length, "recommendation")}, ${urgent} of high priority.`,
      ],
    },
  ];
}

const SECTIONS: readonly (readonly [title: string, blocks: (report: ProfileReport) => Block[]])[] = [
  ["End-to-end timing", timingBlocks],
  ["Micro-benchmarks", benchmarkBlocks],
  ["Crossings into compiled code", crossingBlocks],
  ["Time per layer", layerBlocks],
  ["Bottlenecks", bottleneckBlocks],
  ["Recommendations", adviceBlocks],
  ["Summary", summaryBlocks],
];

export const sectionsOf = (report: ProfileReport): Section[] =>
  SECTIONS.map(([title, blocks], k) => ({ title: `${k + 1}. ${title}`, blocks: blocks(report) }));
