/**
 * @file The report of one run: a page with its summary, curves, shares of time and configuration.
 *
 * Curves are drawn over environment steps. Metrics with names that are not known here get charts of their own, so that
 * nothing that was logged is hidden.
 */
import {
  cutToLength,
  formatCount,
  formatSeconds,
  formatValue,
  type LineChartOptions,
  lineChart,
  type Series,
  sharesChart,
} from "../charts/index.ts";
import { cards, factsTable, figure, foreignPicture, html, notes, page, section } from "./page.ts";
import type { EvaluationResult, IterationRecord } from "./records.ts";
import { configEntries, type RunData } from "./runFiles.ts";

const CHART = { width: 440, height: 250, xLabel: "steps" } as const;
/** Charts of metrics that are not known by name: at most so many. */
const MOST_OTHERS = 24;
/** Characters of a value in the table of the configuration. */
const LONGEST_VALUE = 200;

type ChartLook = Pick<LineChartOptions, "yRange" | "fromZero" | "yScale">;

interface MetricChart {
  readonly title: string;
  readonly metric: string;
  /** Metrics that are the ends of a band around it. */
  readonly band?: readonly [string, string];
  readonly caption?: string;
  readonly look?: ChartLook;
}

const RETURN: MetricChart = {
  title: "Episode return",
  metric: "episode_return",
  band: ["episode_return_min", "episode_return_max"],
  caption: "mean of the episodes that ended in an iteration; band: from the lowest to the highest",
};

/** What is drawn of learning, in this order, where there is something to draw. */
const LEARNING: readonly MetricChart[] = [
  { title: "Policy loss", metric: "policy_loss" },
  { title: "Value loss", metric: "value_loss" },
  { title: "Loss", metric: "loss", caption: "all terms together" },
  { title: "Entropy", metric: "entropy", look: { fromZero: true } },
  { title: "KL divergence", metric: "approx_kl", caption: "of the policy after the update from the one before" },
  { title: "Clip fraction", metric: "clip_fraction", look: { fromZero: true } },
  {
    title: "Explained variance",
    metric: "explained_variance",
    look: { yRange: [-1, 1] },
    caption: "of returns, by values; below -1 drawn at -1",
  },
  { title: "Gradient norm", metric: "grad_norm", look: { fromZero: true }, caption: "before clipping" },
  { title: "Learning rate", metric: "learning_rate", look: { fromZero: true } },
];
const PACE: readonly MetricChart[] = [
  { title: "Episode length", metric: "episode_length", look: { fromZero: true } },
  { title: "Reward per step", metric: "reward_per_step" },
  { title: "Steps per second", metric: "steps_per_s", look: { fromZero: true } },
];
/** Metrics that stand elsewhere than in a chart of their own. */
const ELSEWHERE = /^(episodes|episode_return_min|episode_return_max|time_.*)$/;

const namesOf = (iterations: readonly IterationRecord[]): Set<string> =>
  new Set(iterations.flatMap(({ metrics }) => Object.keys(metrics)));

/** Iterations in which a metric has a value, as a series; undefined when there is none. */
function seriesOf(iterations: readonly IterationRecord[], { metric, band }: MetricChart): Series | undefined {
  const known = iterations.filter(({ metrics }) => Number.isFinite(metrics[metric]));
  if (known.length === 0) return undefined;
  const column = (name: string): number[] => known.map(({ metrics }) => metrics[name] ?? Number.NaN);
  const ends = band && { low: column(band[0]), high: column(band[1]) };
  return { label: "", x: known.map(({ steps }) => steps), y: column(metric), ...ends };
}

/** From the start to the last step: the same axis in all charts of a run. */
const stepRange = ({ iterations, evaluations }: RunData): readonly [number, number] => [
  0,
  Math.max(iterations.at(-1)?.steps ?? 0, evaluations.at(-1)?.steps ?? 0),
];

function metricFigures(run: RunData, charts: readonly MetricChart[]): string[] {
  return charts.flatMap((chart) => {
    const series = seriesOf(run.iterations, chart);
    if (series === undefined) return [];
    return [
      figure(
        lineChart({ ...CHART, xRange: stepRange(run), title: chart.title, ...chart.look, series: [series] }),
        chart.caption,
      ),
    ];
  });
}

function evaluationFigures(run: RunData): string[] {
  const known = run.evaluations.filter(({ evaluation }) => Number.isFinite(evaluation.iqm));
  if (known.length === 0) return [];
  const series = {
    label: "",
    x: known.map(({ steps }) => steps),
    y: known.map(({ evaluation }) => evaluation.iqm),
    low: known.map(({ evaluation }) => evaluation.ci[0]),
    high: known.map(({ evaluation }) => evaluation.ci[1]),
  };
  const caption = "interquartile mean over episodes; band: 95 % bootstrap interval";
  return [
    figure(lineChart({ ...CHART, xRange: stepRange(run), title: "Evaluation return", series: [series] }), caption),
  ];
}

/** Metrics that no list above names, by their own names. */
function otherCharts(iterations: readonly IterationRecord[]): MetricChart[] {
  const named = new Set([RETURN, ...LEARNING, ...PACE].map(({ metric }) => metric));
  return [...namesOf(iterations)]
    .filter((name) => !named.has(name) && !ELSEWHERE.test(name))
    .slice(0, MOST_OTHERS)
    .map((name) => ({ title: name, metric: name }));
}

/** Seconds by phase over the whole run, where phases were timed. */
export function phaseSeconds(iterations: readonly IterationRecord[]): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const { metrics } of iterations) {
    for (const [name, value] of Object.entries(metrics)) {
      const phase = /^time_(.+)$/.exec(name)?.[1];
      if (phase !== undefined && value > 0) seconds.set(phase, (seconds.get(phase) ?? 0) + value);
    }
  }
  return seconds;
}

function phaseFigures({ iterations }: RunData): string[] {
  const shares = [...phaseSeconds(iterations)].map(([label, value]) => ({ label, value }));
  if (shares.length === 0) return [];
  return [figure(sharesChart({ title: "Where the time went", shares, format: formatSeconds, width: CHART.width }))];
}

function evaluationFacts(evaluation: EvaluationResult): [string, string][] {
  const { iqm, ci, mean, std, min, max, episodes, mean_length } = evaluation;
  return [
    [
      "final evaluation",
      `${formatValue(iqm)} [${formatValue(ci[0])}, ${formatValue(ci[1])}]: interquartile mean, 95 % interval`,
    ],
    ["mean and deviation", `${formatValue(mean)} ± ${formatValue(std)}`],
    ["lowest and highest", `${formatValue(min)}, ${formatValue(max)}`],
    ["episodes", `${episodes} of ${formatValue(mean_length)} steps on average`],
  ];
}

function summaryFacts({ summary, iterations, evaluations, seed }: RunData): [string, string][] {
  const [last, evaluation] = [iterations.at(-1), evaluations.at(-1)?.evaluation];
  if (summary === null) {
    return [
      ...(evaluation ? evaluationFacts(evaluation) : []),
      ["seed", String(seed)],
      ["steps so far", formatCount(last?.steps ?? 0)],
      ["iterations so far", String(last?.iteration ?? 0)],
      ["time so far", formatSeconds(last?.wall_s ?? 0)],
    ];
  }
  const final = summary.evaluation ?? evaluation;
  return [
    ...(final ? evaluationFacts(final) : []),
    ["ended", summary.ended],
    ["seed", String(summary.seed)],
    ["steps", `${formatCount(summary.steps)} in ${summary.iterations} iterations`],
    ["time", `${formatSeconds(summary.wall_s)}, ${formatSeconds(summary.train_s)} of it in training`],
    ["steps per second", formatCount(summary.steps_per_s)],
    ["runs on", `${summary.target}, ${summary.threads} thread${summary.threads === 1 ? "" : "s"}, ${summary.numerics}`],
    ["calls of compiled code", String(summary.crossings)],
    ["parameters (SHA-256)", summary.parameters_sha256],
  ];
}

export const runTitle = ({ algo, env, seed, label }: RunData): string =>
  `${label === "" ? algo : `${algo} ${label}`} on ${env}, seed ${seed}`;

/** The report as one HTML page. */
export function reportHtml(run: RunData): string {
  const picture = run.picture === undefined ? [] : [foreignPicture(run.picture, run.env)];
  const curves = [...evaluationFigures(run), ...metricFigures(run, [RETURN])];
  const title = runTitle(run);
  return page(title, [
    `<h1>${html(title)}</h1>`,
    `<p class="faint">${html(run.folder)}</p>`,
    notes(run.warnings),
    cards([factsTable(summaryFacts(run)), ...picture]),
    section("Returns", [cards(curves)]),
    section("Learning", [cards(metricFigures(run, LEARNING))]),
    section("Pace", [cards([...metricFigures(run, PACE), ...phaseFigures(run)])]),
    section("Other metrics", [cards(metricFigures(run, otherCharts(run.iterations)))]),
    section("Configuration", [
      factsTable(configEntries(run.config).map(([key, value]) => [key, cutToLength(value, LONGEST_VALUE)])),
    ]),
  ]);
}
