/**
 * @file The harness on a fake suite and a fake clock: what is timed, in which order, and what the document holds.
 */
import { describe, expect, test } from "vitest";
import { EXACT, GateError, gate } from "../../src/bench/gate.ts";
import { compareReports, comparisonToMarkdown, formatCount, formatNs, toMarkdown } from "../../src/bench/report.ts";
import { makeBar, makeComparison, makeRow, type Report } from "../../src/bench/result.ts";
import { parseReport } from "../../src/bench/stored.ts";
import { findSuite, medianOf, runSuite, type Suite } from "../../src/bench/suite.ts";
import { measure, measureEach, measureTurns, type RemoteArm } from "../../src/bench/timing.ts";

describe("timing", () => {
  /** A clock that only the work itself moves. */
  function fakeArms(costs: { readonly [framework: string]: number }) {
    const state = { now: 0, order: "" };
    const arms = Object.entries(costs).map(([framework, cost]) => ({
      framework,
      run: () => {
        state.now += cost;
        if (!state.order.endsWith(framework)) state.order += framework;
      },
    }));
    return { state, arms, clock: () => state.now };
  }

  test("finds the cost of a call whatever the batch", async () => {
    const { arms, clock } = fakeArms({ a: 10, b: 2500 });
    const samples = await measure(arms, { samples: 5, sampleNs: 1000, warmUpNs: 10_000 }, clock);
    expect(samples.get("a")).toEqual([10, 10, 10, 10, 10]);
    expect(samples.get("b")).toEqual([2500, 2500, 2500, 2500, 2500]);
  });

  test("takes the arms in turn, in a rotating order", async () => {
    const { state, arms, clock } = fakeArms({ a: 10, b: 10, c: 10 });
    await measure(arms, { samples: 3, sampleNs: 10, warmUpNs: 100 }, clock);
    expect(state.order).toBe("abc" + "abc" + "bca" + "cab");
  });

  test("takes single calls in turn, and none besides, where they are long", async () => {
    const { state, arms, clock } = fakeArms({ a: 10, b: 20, c: 5 });
    const before = (): void => {
      state.now += 100;
      state.order += "-";
    };
    const [a, b, c] = arms;
    const samples = await measureTurns([a!, b!, { ...c!, before }], 2, clock);
    expect(Object.fromEntries(samples)).toEqual({ a: [10, 10], b: [20, 20], c: [5, 5] });
    expect(state.order).toBe("ab-c" + "b-ca");
  });

  test("batches are long enough", async () => {
    let calls = 0;
    let now = 0;
    const batches: number[] = [];
    const clock = () => {
      batches.push(calls);
      calls = 0;
      return now;
    };
    const run = () => {
      calls++;
      now += 3;
    };
    await measure([{ framework: "a", run }], { samples: 2, sampleNs: 1000, warmUpNs: 5000 }, clock);
    expect(batches.slice(-3)).toEqual([334, 0, 334]);
  });

  test("an arm with a preparation is timed one call at a time, without the preparation", async () => {
    let now = 0;
    let prepared = false;
    const arm = {
      framework: "a",
      before: () => {
        prepared = true;
        now += 1e6;
      },
      run: () => {
        expect(prepared).toBe(true);
        prepared = false;
        now += 7;
      },
    };
    const samples = await measure([arm], { samples: 4, sampleNs: 1000, warmUpNs: 1 }, () => now);
    expect(samples.get("a")).toEqual([7, 7, 7, 7]);
  });

  test("an arm elsewhere takes its turns by its own clock, and may be slow", async () => {
    const { state, arms, clock } = fakeArms({ a: 10, b: 10 });
    const remote: RemoteArm = {
      framework: "r",
      samples: 2,
      time: async (calls) => {
        if (!state.order.endsWith("r")) state.order += "r";
        state.now += 50;
        return calls * 400;
      },
      timeEach: async (calls) => Array.from({ length: calls }, (_, k) => k),
    };
    const samples = await measure([...arms, remote], { samples: 3, sampleNs: 1000, warmUpNs: 100 }, clock);
    expect(samples.get("r")).toEqual([400, 400]);
    expect(samples.get("a")).toEqual([10, 10, 10]);
    expect(state.order).toBe("abr" + "abr" + "bra" + "b");
    const each = await measureEach([...arms, remote], 40, clock);
    expect(each.get("a")).toEqual(new Array(40).fill(10));
    expect(each.get("r")).toEqual(Array.from({ length: 40 }, (_, k) => k % 2));
  });
});

describe("gates", () => {
  test("accept what is near enough and name what is not", () => {
    expect(() => gate("x", [1, Number.NaN, -0], [1, Number.NaN, 0], EXACT)).not.toThrow();
    expect(() => gate("x", [1.001], [1], { absolute: 0, relative: 0.01 })).not.toThrow();
    expect(() => gate("sum", [1, 2.5], [1, 2], EXACT)).toThrow("sum: element 1 is 2.5, the other side has 2");
    expect(() => gate("sum", [Number.NaN], [2], { absolute: 9, relative: 9 })).toThrow(GateError);
    expect(() => gate("sum", [1], [1, 2], EXACT)).toThrow("sum: 1 numbers against 2");
  });
});

const TIMING = { samples: 7, sampleNs: 20_000, warmUpNs: 50_000 };
let sink = 0;
const busy = (rounds: number) => () => {
  for (let i = 0; i < rounds; i++) sink = (sink + i) | 0;
};

const fake: Suite = {
  name: "fake",
  what: "for the tests",
  async run(recorder) {
    const samples = await recorder.workload({
      name: "spin",
      category: "fake",
      params: { rounds: 10 },
      items: 10,
      arms: [
        { framework: "ours", run: busy(10) },
        { framework: "theirs", run: busy(1000) },
      ],
      gate: () => gate("spin", [1], [1], EXACT),
    });
    const ratio = recorder.compare("spin", samples, "ours", "theirs");
    recorder.bar({ id: "spin/ours", what: "ours against theirs", relation: ">=", limit: 0.0001, unit: "x" }, ratio);
    recorder.bar(
      { id: "spin/slow", what: "an impossible one", relation: "<=", limit: 0, unit: "us" },
      medianOf(samples, "ours"),
    );
    const wrong = await recorder.workload({
      name: "wrong",
      category: "fake",
      params: {},
      items: 1,
      arms: [{ framework: "ours", run: () => expect.unreachable("a workload whose gate failed was run") }],
      gate: () => gate("wrong", [1], [2], EXACT),
    });
    const none = recorder.compare("wrong", wrong, "ours", "theirs");
    recorder.bar({ id: "wrong", what: "not measured", relation: ">=", limit: 2, unit: "x" }, none, "the gate failed");
    recorder.skip("peer", "not installed");
  },
};

async function fakeReport(): Promise<{ report: Report; failures: number; lines: string[] }> {
  const lines: string[] = [];
  const say = (line: string) => lines.push(line);
  return { ...(await runSuite(fake, { quick: true, peers: false, say, timing: TIMING })), lines };
}

describe("a suite", () => {
  test("gives the whole document", async () => {
    const { report, failures, lines } = await fakeReport();
    expect(failures).toBe(1);
    expect(Object.keys(report)).toEqual(["suite", "quick", "system", "results", "comparisons", "bars", "skipped"]);
    expect(report.results.map((row) => [row.name, row.framework, row.n_samples])).toEqual([
      ["spin", "ours", 7],
      ["spin", "theirs", 7],
    ]);
    expect(Object.keys(report.results[0] ?? {})).toEqual(
      "name category framework params median_ns mean_ns p25_ns p75_ns p99_ns min_ns max_ns iqr_ns n_samples throughput_per_s".split(
        " ",
      ),
    );
    expect(Object.keys(report.comparisons[0] ?? {})).toEqual(
      "benchmark ours_median_ns baseline_median_ns baseline_framework speedup speedup_ci_95_lo speedup_ci_95_hi significant".split(
        " ",
      ),
    );
    expect(report.bars.map(({ id, met, measured }) => [id, met, measured === null])).toEqual([
      ["spin/ours", true, false],
      ["spin/slow", false, false],
      ["wrong", false, true],
    ]);
    expect(report.bars[2]).toEqual({
      id: "wrong",
      what: "not measured",
      required: ">= 2x",
      measured: null,
      met: false,
      reason: "the gate failed",
    });
    expect(report.skipped).toEqual([
      { what: "wrong", reason: "gate: wrong: element 0 is 1, the other side has 2" },
      { what: "peer", reason: "not installed" },
    ]);
    expect(lines[0]).toBe("spin: ours, theirs");
  });

  test("survives being stored, and is rendered", async () => {
    const { report } = await fakeReport();
    const again = parseReport(JSON.stringify(report), "r.json");
    expect(again).toEqual(report);
    const page = toMarkdown(again);
    expect(page).toContain("## Bars: 1 of 3 met");
    expect(page).toContain("| wrong | not measured | >= 2x | - | no: the gate failed |");
    expect(page).toContain("| spin | ours | rounds=10 |");
  });

  test("tells nothing of folders and users", async () => {
    const { report } = await fakeReport();
    const text = JSON.stringify(report);
    expect(text).not.toContain(process.cwd());
    if (process.env.HOME) expect(text).not.toContain(`${process.env.HOME}/`);
  });

  test("is found by name, or a near one is offered", () => {
    expect(findSuite("fake", [fake])).toBe(fake);
    expect(() => findSuite("fakr", [fake])).toThrow('There is no suite "fakr". Did you mean "fake"? Suites: fake.');
  });
});

describe("stored reports", () => {
  const base: Report = {
    suite: "s",
    quick: false,
    system: {
      date: "2030-01-01",
      machine: { cpu: "c", architecture: "x", cores: 1, memory_gb: 1, load: [] },
      os: "o",
      versions: {},
    },
    results: [],
    comparisons: [],
    bars: [],
    skipped: [],
  };
  const head = { name: "k", category: "c", framework: "f", params: { n: 4 } };
  const withRow = (samples: number[], name = "k"): Report => ({
    ...base,
    results: [makeRow({ ...head, name }, samples, 4)],
  });

  test("are checked", () => {
    expect(() => parseReport("[", "r.json")).toThrow("r.json is not a bench report");
    expect(() => parseReport("{}", "r.json")).toThrow("it.suite is undefined");
    expect(() => parseReport(JSON.stringify({ ...base, results: 3 }), "r.json")).toThrow("results is not a list");
    const broken = { ...withRow([1]), results: [{ ...withRow([1]).results[0], median_ns: "x" }] };
    expect(() => parseReport(JSON.stringify(broken), "r.json")).toThrow('results[0].median_ns is "x"');
  });

  test("show what became slower", () => {
    const before = withRow([100, 101, 102]);
    expect(compareReports(before, withRow([100, 102, 103])).regressions).toBe(0);
    const slower = compareReports(before, withRow([150, 151, 152]));
    expect(slower.regressions).toBe(1);
    expect(slower.changes[0]).toMatchObject({ benchmark: "k / f / n=4", verdict: "slower", ratio: 1.495 });
    expect(compareReports(before, withRow([50, 51, 52])).changes[0]?.verdict).toBe("faster");
    expect(compareReports(before, withRow([80, 120, 160])).changes[0]?.verdict).toBe("same");
    expect(compareReports(before, withRow([1], "other")).unmatched).toHaveLength(2);
    expect(comparisonToMarkdown(slower)).toContain("1 slower, 1 compared");
  });
});

describe("figures", () => {
  test("rows hold nanoseconds and items per second", () => {
    const row = makeRow({ name: "k", category: "c", framework: "f", params: {} }, [100, 200, 300], 50);
    expect(row).toMatchObject({ median_ns: 200, iqr_ns: 100, throughput_per_s: 2.5e8 });
  });
  test("comparisons say whether they mean anything", () => {
    expect(makeComparison("k", [10, 10, 10], [20, 20, 20], "b")).toMatchObject({ speedup: 2, significant: true });
    expect(makeComparison("k", [10, 20, 30], [11, 21, 29], "b").significant).toBe(false);
  });
  test("bars are met on the right side of their limit", () => {
    const least = { id: "i", what: "w", relation: ">=", limit: 0.9, unit: "x" } as const;
    expect(makeBar(least, 0.9)).toEqual({ id: "i", what: "w", required: ">= 0.9x", measured: 0.9, met: true });
    expect(makeBar(least, 0.89).met).toBe(false);
    expect(makeBar({ ...least, relation: "<=", unit: "ms" }, 0.89)).toMatchObject({ required: "<= 0.9 ms", met: true });
    expect(makeBar(least, Number.NaN)).toMatchObject({ measured: null, met: false });
  });
  test("a figure that is only told has no limit, but has to be there", () => {
    const spec = { id: "a", what: "b", unit: "%" } as const;
    expect(makeBar(spec, 3)).toEqual({ id: "a", what: "b", required: "a figure in %", measured: 3, met: true });
    expect(makeBar(spec, { reason: "no" })).toMatchObject({ measured: null, met: false, reason: "no" });
  });

  test("are printed with three digits", () => {
    expect([formatNs(0.5), formatNs(12.34), formatNs(1234), formatNs(5.6e7), formatNs(2e9)]).toEqual([
      "0.500 ns",
      "12.3 ns",
      "1.23 us",
      "56.0 ms",
      "2.00 s",
    ]);
    expect([formatCount(12), formatCount(34567), formatCount(2.5e9)]).toEqual(["12.0", "34.6 k", "2.50 G"]);
  });
});
