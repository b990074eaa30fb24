/**
 * @file The charts of a comparison: curves and final returns of each environment, and what spans all of them.
 */
import { barChart, formatCount, formatShare, lineChart } from "../charts/index.ts";
import type { Comparison, EnvironmentComparison } from "./compare.ts";
import type { Estimate, Group } from "./groups.ts";

export interface Chart {
  /** A name for a file, without an ending. */
  readonly name: string;
  readonly svg: string;
  /** How its numbers came about, in a line. */
  readonly caption: string;
}

export interface ChartSize {
  readonly width: number;
  /** Of charts with curves; those with bars grow with their number. */
  readonly height: number;
}

const MEASURES = {
  evaluation: "mean return of evaluations",
  training: "mean return of the episodes that ended while training",
} as const;

/** A name for files: plain characters only. */
const slug = (name: string): string =>
  name.replaceAll(/[^A-Za-z0-9.-]+/g, "-").replaceAll(/^[-.]+|[-.]+$/g, "") || "environment";

/** An estimate as a bar. */
function ends(estimate: Estimate | null): { readonly value: number; readonly low?: number; readonly high?: number } {
  if (estimate === null) return { value: Number.NaN };
  const { value, ci } = estimate;
  return ci === null ? { value } : { value, low: ci[0], high: ci[1] };
}

function curvesChart(
  { env, measure, groups }: EnvironmentComparison,
  methods: readonly string[],
  size: ChartSize,
): Chart {
  const series = groups.flatMap(({ curve, method, seeds }) => {
    if (curve === null) return [];
    const { steps, mean, low, high } = curve;
    const band = seeds.length > 1 ? { low, high } : {};
    return [{ label: method, x: steps, y: mean, colour: methods.indexOf(method), ...band }];
  });
  const xRange = [0, Math.max(...groups.map(({ curve }) => curve?.steps.at(-1) ?? 0))] as const;
  return {
    name: `curves-${slug(env)}`,
    svg: lineChart({ ...size, xRange, title: env, xLabel: "steps", yLabel: "return", series }),
    caption: `${MEASURES[measure]}, averaged over runs; band: 95 % bootstrap interval`,
  };
}

function finalChart({ env, groups }: EnvironmentComparison, methods: readonly string[], { width }: ChartSize): Chart {
  const bars = groups.map(({ method, final }) => ({ label: method, colour: methods.indexOf(method), ...ends(final) }));
  return {
    name: `final-${slug(env)}`,
    svg: barChart({ width, title: `${env}, final return`, bars }),
    caption: "interquartile mean over runs, 95 % bootstrap interval",
  };
}

function profileCharts({ overall }: Comparison, size: ChartSize): Chart[] {
  if (overall === null) return [];
  const { taus, profiles, envs } = overall;
  const svg = lineChart({
    ...size,
    title: "Performance profile",
    xLabel: "normalised score",
    yLabel: "share of runs above",
    series: profiles.map(({ method, mean, low, high }) => ({ label: method, x: taus, y: mean, low, high })),
    steps: true,
    fromZero: true,
  });
  const scale = "0 is random, 1 a well-tuned agent";
  return [{ name: "profile", svg, caption: `over ${envs.join(", ")}; ${scale}; band: 95 % bootstrap interval` }];
}

function improvementCharts({ improvements }: Comparison, { width }: ChartSize): Chart[] {
  if (improvements.length === 0) return [];
  const bars = improvements.map(({ method, over, probability, ci: [low, high] }) => ({
    label: `${method} > ${over}`,
    value: probability,
    low,
    high,
    colour: 0,
  }));
  const look = { range: [0, 1], reference: 0.5, format: formatShare } as const;
  return [
    {
      name: "improvement",
      svg: barChart({ width, title: "Probability of improvement", bars, ...look }),
      caption: "how likely a run of the first is better than one of the second; 95 % bootstrap interval",
    },
  ];
}

function speedCharts({ environments, methods }: Comparison, { width }: ChartSize): Chart[] {
  const name = ({ method, env }: Group): string => (environments.length > 1 ? `${method}, ${env}` : method);
  const bars = environments
    .flatMap(({ groups }) => groups)
    .filter(({ stepsPerSecond }) => stepsPerSecond !== null)
    .map((group) => ({
      label: name(group),
      colour: methods.indexOf(group.method),
      ...ends(group.stepsPerSecond),
    }));
  if (bars.length === 0) return [];
  const svg = barChart({ width, title: "Steps per second", bars, format: formatCount });
  return [{ name: "speed", svg, caption: "mean over runs, 95 % bootstrap interval" }];
}

/** Charts with names of their own: of two that have the same, the later gets a number. */
function distinct(charts: readonly Chart[]): Chart[] {
  const taken = new Set<string>();
  return charts.map((chart) => {
    let { name } = chart;
    for (let k = 2; taken.has(name); k++) name = `${chart.name}-${k}`;
    taken.add(name);
    return { ...chart, name };
  });
}

/** All charts of a comparison. */
export function comparisonCharts(comparison: Comparison, size: ChartSize): Chart[] {
  const { environments, methods } = comparison;
  return distinct([
    ...environments.flatMap((environment) => [
      curvesChart(environment, methods, size),
      finalChart(environment, methods, size),
    ]),
    ...profileCharts(comparison, size),
    ...improvementCharts(comparison, size),
    ...speedCharts(comparison, size),
  ]);
}
