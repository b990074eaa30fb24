import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { FileError } from "../../src/platform/files.ts";
import { phaseSeconds, reportHtml } from "../../src/train/report.ts";
import { RunFileError, readRun } from "../../src/train/runFiles.ts";
import { type Files, filesOf, iteration, madeUp, writeRun } from "./runs.ts";

const root = mkdtempSync(join(tmpdir(), "lockstep-report-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let made = 0;
const folderWith = (files: Files): string => writeRun(join(root, `run-${++made}`), files);

const METRICS = {
  policy_loss: -0.01,
  value_loss: 12,
  entropy: 0.6,
  approx_kl: 0.01,
  clip_fraction: 0.1,
  explained_variance: 0.5,
  steps_per_s: 1e6,
  episode_return: 20,
  episode_return_min: 10,
  episode_return_max: 30,
};
const TIMES = { time_environment: 0.3, time_policy: 0.1, time_update: 0.6 };
const withMetrics = (metrics: { readonly [name: string]: number }) => ({
  ...madeUp(),
  iterations: [1, 2, 3].map((k) => iteration(k, metrics)),
});
const titlesOf = (html: string): string[] =>
  [...html.matchAll(/<svg [^>]*aria-label="([^"]*)"/g)].map(([, t = ""]) => t);

/** Whether all elements of a page are closed in order. */
function isBalanced(html: string): boolean {
  const open: string[] = [];
  for (const [, closing, name = "", empty] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*?(\/?)>/g)) {
    if (empty || ["meta", "img"].includes(name)) continue;
    if (!closing) open.push(name);
    else if (open.pop() !== name) return false;
  }
  return open.length === 0;
}

describe("reading a run folder", () => {
  const run = madeUp({ config: { nEnvs: 8, preset: "cleanrl" } });
  const files = filesOf(run);

  test("gives back what was written", () => {
    const read = readRun(folderWith(files));
    expect(read).toMatchObject({ algo: "ppo", env: "CartPole-v1", seed: 1, label: "cleanrl", warnings: [] });
    expect(read.iterations).toEqual(run.iterations);
    expect(read.evaluations).toEqual(run.evaluations);
    expect(read.summary).toEqual(run.summary);
    expect(read.config.nEnvs).toBe(8);
    expect(readRun(folderWith(files), { label: "mine" }).label).toBe("mine");
  });

  test("takes null for a number that is none", () => {
    const record = JSON.stringify(iteration(1, { episode_return: Number.NaN }));
    expect(record).toContain("null");
    const read = readRun(folderWith({ ...files, "metrics.jsonl": `${record}\n` }));
    expect(read.iterations[0]?.metrics.episode_return).toBeNaN();
  });

  test("of a run that was cut off leaves out the torn line and says so", () => {
    const torn = `${files["metrics.jsonl"]}{"kind":"iter`;
    const read = readRun(folderWith({ ...files, "metrics.jsonl": torn, "summary.json": undefined }));
    expect(read.iterations).toHaveLength(run.iterations.length);
    expect(read.summary).toBeNull();
    expect(read.warnings).toEqual([
      expect.stringMatching(/last line.*torn/),
      expect.stringMatching(/no summary\.json/),
    ]);
  });

  test("with nothing logged yet is possible", () => {
    const read = readRun(folderWith({ ...files, "metrics.jsonl": "", "summary.json": undefined }));
    expect([read.iterations, read.evaluations]).toEqual([[], []]);
    expect(reportHtml(read)).toContain("steps so far");
  });

  test.each<[string, Files, RegExp]>([
    ["no configuration", { "config.json": undefined }, /no config\.json/],
    ["no metrics", { "metrics.jsonl": undefined }, /no metrics\.jsonl/],
    ["a configuration that is not JSON", { "config.json": "{" }, /config\.json is not JSON/],
    ["a configuration without an algorithm", { "config.json": '{"env":"x","seed":1}' }, /config\.json.*algo/],
    ["a configuration that is a list", { "config.json": "[]" }, /config\.json/],
    ["a deep configuration", { "config.json": `{"a":${"[".repeat(5e4)}${"]".repeat(5e4)}}` }, /config\.json is nested/],
    ["a line that is not JSON", { "metrics.jsonl": `${files["metrics.jsonl"]}oops\n` }, /metrics\.jsonl: line 41/],
    ["a line that is no record", { "metrics.jsonl": '{"kind":"iteration"}\n' }, /metrics\.jsonl: line 1/],
    ["a summary of another form", { "summary.json": '{"algo":"ppo"}' }, /summary\.json/],
  ])("refuses %s", (_, changed, message) => {
    const folder = folderWith({ ...files, ...changed });
    expect(() => readRun(folder)).toThrow(RunFileError);
    expect(() => readRun(folder)).toThrow(message);
  });

  test("refuses what is no folder, and files that are too large", () => {
    expect(() => readRun(join(root, "nowhere"))).toThrow(/nowhere is not the folder of a run/);
    const huge = folderWith({ ...files, "config.json": `{"a":"${"x".repeat(2 ** 24)}"}` });
    expect(() => readRun(huge)).toThrow(FileError);
  });
});

describe("the report of a run", () => {
  test("is one page that loads nothing", () => {
    const html = reportHtml(withMetrics({ ...METRICS, ...TIMES }));
    expect(html.replaceAll('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(
      /https?:|<script|<link|@import|url\(/,
    );
    expect(html).toContain('name="viewport"');
    expect(html).toContain("prefers-color-scheme: dark");
    expect(isBalanced(html)).toBe(true);
  });

  test("draws what was logged, and only that", () => {
    const all = titlesOf(reportHtml(withMetrics({ ...METRICS, ...TIMES })));
    expect(all).toEqual([
      "Evaluation return",
      "Episode return",
      "Policy loss",
      "Value loss",
      "Entropy",
      "KL divergence",
      "Clip fraction",
      "Explained variance",
      "Steps per second",
      "Where the time went",
    ]);
    const few = { ...withMetrics({ entropy: 1, value_loss: Number.NaN }), evaluations: [] };
    expect(titlesOf(reportHtml(few))).toEqual(["Entropy"]);
  });

  test("carries metrics that it does not know", () => {
    const titles = titlesOf(reportHtml(withMetrics({ entropy: 1, intrinsic_reward: 2, "q<1>": 3 })));
    expect(titles).toEqual(["Evaluation return", "Entropy", "intrinsic_reward", "q&#60;1&#62;"]);
  });

  test("sums phases over the run", () => {
    const seconds = phaseSeconds(withMetrics({ ...TIMES, time_gae: Number.NaN }).iterations);
    expect([...seconds.keys()]).toEqual(["environment", "policy", "update"]);
    expect(seconds.get("update")).toBeCloseTo(1.8, 12);
    expect(reportHtml(withMetrics(TIMES))).toMatch(/environment 30\.0 % \(900 ms\)/);
  });

  test("says what the run came to, and how it was set", () => {
    const html = reportHtml({
      ...madeUp({ config: { hyperparameters: { netArch: [64, 64] }, spaces: { low: { $: "-Infinity" } } } }),
    });
    for (const text of [
      "ppo on CartPole-v1, seed 1",
      "400 [399, 401]",
      "400 ± 1",
      "finished",
      "20k in 20 iterations",
      "12.5 s",
    ])
      expect(html).toContain(text);
    expect(html).toContain('<th scope="row">spaces.low</th><td>-Infinity</td>');
    expect(html).toContain('<th scope="row">netArch</th><td>[64,64]</td>');
  });

  test("of a run that is not over shows how far it came", () => {
    const html = reportHtml({ ...madeUp({ finished: false }), warnings: ["the run is not over"] });
    expect(html).toContain("steps so far");
    expect(html).toContain("<p>the run is not over</p>");
    expect(html).toContain("400 [399, 401]");
  });

  test("executes nothing that stands in its files", () => {
    const evil = '"><script>alert(1)</script>';
    const run = {
      ...madeUp({ algo: evil, env: evil, label: evil, config: { [evil]: evil } }),
      warnings: [evil],
      folder: evil,
    };
    const html = reportHtml({ ...run, picture: `<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>` });
    expect(html).not.toContain("<script");
    expect(html).toContain('<img alt="&#34;&#62;');
    expect(html).toContain("data:image/svg+xml,%3Csvg");
    expect(isBalanced(html)).toBe(true);
  });
});
