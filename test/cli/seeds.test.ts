/**
 * @file `lockstep train --seeds`: what each seed is told, how they are shown, and what becomes of all of them, also
 * when some fail or when they are interrupted.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { MetricsTail } from "../../src/cli/seedRun.ts";
import { commonArguments, runSeeds, type SeedsOptions, seedsOf } from "../../src/cli/seeds.ts";
import { lineView, quietView, type SeedLook, seedLine, terminalView, totalLine } from "../../src/cli/seedView.ts";
import { styleFor } from "../../src/cli/text.ts";
import { addTrain } from "../../src/cli/train.ts";
import { UsageError } from "../../src/platform/errors.ts";
import { Progress } from "../../src/train/loggers/progress.ts";
import { Screen } from "../train/loggers/screen.ts";
import { filesOf, iteration, madeUp, STEPS } from "../train/runs.ts";
import { builtFirst, lockstep, ownFolder, started } from "./command.ts";

builtFirst();
const folder = ownFolder();

describe("seeds", () => {
  test("are a thousand apart, from 42 or from the one that was given", () => {
    expect(seedsOf(3)).toEqual([42, 1042, 2042]);
    expect(seedsOf(2, 7)).toEqual([7, 1007]);
  });
  test("do not go beyond what a run takes", () => {
    expect(() => seedsOf(2, 0xffff_ffff)).toThrow(UsageError);
  });
});

describe("what seeds are told", () => {
  const all: SeedsOptions = {
    ...{ steps: 100, envs: 2, target: "js", numerics: "auto", preset: "sb3", config: "a.yml", evalEvery: 5 },
    ...{ evalEpisodes: 3, checkpointEvery: 7, stopAt: -200, export: "default", data: "d", wandb: "p", logStyle: "sb3" },
    ...{ csv: true, timing: true, tuned: false, set: ["a=1", "b=[2,3]"], threads: 2 },
  };
  /** The command's own parser, which says what it made of its arguments. */
  function parsed(args: readonly string[]) {
    const program = new Command().exitOverride();
    addTrain(program, () => {});
    const train = program.commands[0] as Command;
    let seen: unknown[] = [];
    train.action((...given: unknown[]) => {
      seen = given;
    });
    program.parse(args, { from: "user" });
    return { algo: seen[0], env: seen[1], options: train.opts() };
  }
  test("is what the command was told", () => {
    const { algo, env, options } = parsed(commonArguments("ppo", "CartPole-v1", all));
    expect([algo, env]).toEqual(["ppo", "CartPole-v1"]);
    expect(options).toEqual({ ...all, save: true });
  });
  test("is one thread each unless another number is given", () => {
    expect(commonArguments("ppo", "x", {})).toEqual(["train", "ppo", "x", "--threads=1"]);
  });
  test("leaves no option of the command out", () => {
    const program = new Command();
    addTrain(program, () => {});
    const known = (program.commands[0] as Command).options.map(({ long }) => long ?? "");
    const own = ["--seed", "--seeds", "--jobs", "--out", "--name", "--no-save", "--json", "--quiet"];
    const told = commonArguments("ppo", "x", all).map((text) => text.replace(/=.*/s, ""));
    expect(known.filter((long) => !own.includes(long) && !told.includes(long))).toEqual([]);
  });
});

describe("a metrics file that grows", () => {
  const records = Array.from({ length: 12 }, (_, k) => iteration(k + 1, { größe: k }));
  const bytes = new TextEncoder().encode(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  test("gives each record once, wherever it is cut", () => {
    let file = 0;
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 6 }), (cuts) => {
        const path = join(folder, `tail-${file++}.jsonl`);
        const tail = new MetricsTail(path);
        expect(tail.read()).toEqual([]);
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const found = places.slice(1).flatMap((end, k) => {
          appendFileSync(path, bytes.subarray(places[k], end));
          return tail.read();
        });
        expect(found).toEqual(records);
      }),
      { numRuns: 30 },
    );
  });
  test("gives nothing for lines that are no records", () => {
    const path = join(folder, "wrong.jsonl");
    writeFileSync(path, "not a record\n");
    expect(new MetricsTail(path).read()).toEqual([]);
  });
});

describe("the views", () => {
  function look(seed: number, state: SeedLook["state"], done?: number): SeedLook & { state: SeedLook["state"] } {
    const about = { algo: "ppo", env: "CartPole-v1", seed, target: "js", threads: 1, numerics: "fused", config: {} };
    const progress = done === undefined ? undefined : new Progress({ ...about, total_steps: 10 * STEPS });
    for (let k = 1; k <= (done ?? 0); k++) progress?.record(iteration(k, { episode_return: 20 * k }));
    return { seed, state, progress, error: state === "failed" ? "the disk\nis full" : undefined };
  }
  const looks = [look(42, "running", 5), look(1042, "finished", 10), look(2042, "failed"), look(3042, "waiting")];

  test("show a seed in a line that fits", () => {
    expect(seedLine(looks[0] as SeedLook)).toMatch(
      /^seed 42 +━{5}─{5} {2}50 % {2}5k steps +return 100 +10 k\/s +0\.5s left$/,
    );
    expect(seedLine(looks[2] as SeedLook)).toBe("seed 2042   failed: the disk is full");
    for (const one of looks) {
      expect([...seedLine(one, 200)].length).toBeLessThan(80);
      expect([...seedLine(one, 30)].length).toBeLessThan(30);
    }
    expect(totalLine(looks)).toBe("2 of 4 seeds done, 1 running, 1 failed");
  });
  test("draw over themselves in a terminal", () => {
    const screen = new Screen(80);
    const view = terminalView(looks, screen, styleFor({}));
    view.update();
    view.note("a note");
    view.end();
    const lines = screen.text().split("\n");
    expect(lines[0]).toBe("a note");
    expect(lines).toHaveLength(1 + looks.length + 1);
  });
  test("show what runs where there is no room for all", () => {
    const screen = new Screen(80, 4);
    const many = [...looks, ...Array.from({ length: 10 }, (_, k) => look(4042 + k * 1000, "waiting"))];
    const view = terminalView(many, screen, styleFor({}));
    view.update();
    view.update();
    const lines = screen.text().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("seed 42 ");
    expect(lines[1]).toContain("seed 2042 ");
  });
  test("write lines for changes, and after a while without", () => {
    let [now, text] = [0, ""];
    const view = lineView(
      looks,
      (more) => (text += more),
      () => now,
    );
    view.changed(looks[1] as SeedLook);
    view.update();
    now = 31_000;
    view.update();
    view.update();
    expect(text.split("\n")).toEqual([
      "seed 1042: 10k steps return 200 finished",
      "2 of 4 seeds done, 1 running, 1 failed, 42 at 50 %",
      "",
    ]);
  });
  test("tell failures when nothing else is wanted", () => {
    let text = "";
    const view = quietView((more) => (text += more));
    for (const one of looks) view.changed(one);
    expect(text).toBe("seed 2042 failed: the disk is full\n");
  });
});

/** A program in the place of ours: it writes a made-up run, or fails, as its seed says. */
const stub = join(folder, "stub.mjs");
const made = filesOf(madeUp({ iterations: 3 }));
writeFileSync(
  stub,
  `
import { mkdirSync, writeFileSync } from "node:fs";
const value = (name) => process.argv.find((text) => text.startsWith("--" + name + "=")).split("=")[1];
const seed = Number(value("seed"));
if (seed === 1042 && process.argv.includes("--set=fail=1")) {
  console.error("warning: something\\nerror: the reward is NaN");
  process.exit(1);
}
if (process.argv.includes("--set=wrong=1")) {
  console.error("error: there is no key wrong");
  process.exit(2);
}
if (process.argv.includes("--set=silent=1")) process.exit(0);
const folder = value("out") + "/" + value("name");
mkdirSync(folder, { recursive: true });
const files = ${JSON.stringify(made)};
for (const [name, text] of Object.entries(files))
  writeFileSync(folder + "/" + name, text.replace(/"seed":1\\b/, '"seed":' + seed));
`,
);

/** Runs seeds with the stub; what was printed. */
async function seeded(options: SeedsOptions) {
  const printed = { out: "", err: "" };
  const into = (name: "out" | "err") => (text: string | Uint8Array) => {
    printed[name] += text;
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(into("out")),
    vi.spyOn(process.stderr, "write").mockImplementation(into("err")),
  ];
  try {
    const code = await runSeeds("ppo", "CartPole-v1", { out: folder, ...options }, [process.execPath, stub]);
    return { code, ...printed };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

describe("several seeds", () => {
  test("become one result, beside their folders", async () => {
    const { code, out, err } = await seeded({ seeds: 3, jobs: 2, name: "good", json: true });
    expect(code).toBe(0);
    expect(err).toContain("3 of 3 seeds done, 0 running");
    const result = JSON.parse(out);
    expect(result.seeds.map(({ seed }: { seed: number }) => seed)).toEqual([42, 1042, 2042]);
    expect(result).toMatchObject({ algo: "ppo", env: "CartPole-v1", failed: [], unfinished: [] });
    expect(result.aggregate).toMatchObject({ runs: 3, iqm: 60, ci: [60, 60], mean: 60, std: 0, min: 60, max: 60 });
    expect(readFileSync(join(folder, "good", "aggregate.json"), "utf8")).toBe(out);
    expect(existsSync(join(folder, "good", "comparison.html"))).toBe(true);
    expect((await lockstep(folder, "compare", "good", "--json")).out).toContain('"runs": 3');
  });
  test("go on when one fails, which is named with its error", async () => {
    const { code, out } = await seeded({ seeds: 3, jobs: 1, name: "bad", set: ["fail=1"] });
    expect(code).toBe(1);
    expect(out).toContain("seed 1042: failed: the reward is NaN\n");
    expect(out).toMatch(/^failed +seed 1042: the reward is NaN$/m);
    expect(out).toMatch(/^evaluation +IQM 60 \[60, 60\], mean 60 ± 0, 2 seeds$/m);
    const { failed } = JSON.parse(readFileSync(join(folder, "bad", "aggregate.json"), "utf8"));
    expect(failed).toEqual([{ seed: 1042, error: "the reward is NaN", run: join(folder, "bad", "seed-1042") }]);
    expect(readFileSync(join(folder, "bad", "comparison.html"), "utf8")).toContain("seed 1042 failed");
  });
  test("stop at wrong usage, which the others would meet, too", async () => {
    const { code, out, err } = await seeded({
      seeds: 3,
      jobs: 1,
      name: "wrong",
      set: ["wrong=1"],
      json: true,
      quiet: true,
    });
    expect(code).toBe(2);
    expect(err).toBe("seed 42 failed: there is no key wrong\n");
    expect(JSON.parse(out)).toMatchObject({ seeds: [], aggregate: null, report: null, failed: [{ seed: 42 }] });
  });
  test("fail when they leave nothing behind", async () => {
    const { code, out } = await seeded({ seeds: 1, name: "silent", set: ["silent=1"], json: true, quiet: true });
    expect(code).toBe(1);
    expect(JSON.parse(out).failed[0].error).toContain("is not the folder of a run");
  });
  test("get a folder of their own, and never one that holds something", async () => {
    const first = JSON.parse((await seeded({ seeds: 1, json: true, quiet: true })).out);
    const second = JSON.parse((await seeded({ seeds: 1, json: true, quiet: true })).out);
    expect(first.folder).toMatch(/CartPole-v1__ppo__42__\d{8}-\d{6}-x1(-\d)?$/);
    expect(second.folder).not.toBe(first.folder);
    expect(first.aggregate.ci).toBeNull();
    await expect(seeded({ seeds: 1, name: "good" })).rejects.toThrow("is not empty");
    await expect(seeded({ seeds: 1, name: "../up" })).rejects.toThrow(UsageError);
    await expect(seeded({ seeds: 1, save: false })).rejects.toThrow("--no-save");
  });
});

/** Settings under which a run is compiled in a moment. */
const SMALL = ["--no-tuned", "--target=js", "--set=nEnvs=4", "--set=netArch=[8]", "--eval-episodes=2"];

describe("the command", () => {
  test("trains each seed as it would be trained alone", async () => {
    const args = ["train", "a2c", "CartPole-v1", ...SMALL, "--steps=200", "--quiet", "--json"];
    const [together, alone] = await Promise.all([
      lockstep(folder, ...args, "--seeds=2", "--name=both"),
      lockstep(folder, ...args, "--seed=1042", "--name=alone"),
    ]);
    expect(together.err).toBe("");
    expect(together.code).toBe(0);
    const { seeds, aggregate, report } = JSON.parse(together.out);
    expect(seeds[1].parameters_sha256).toBe(JSON.parse(alone.out).parameters_sha256);
    expect(seeds[0].parameters_sha256).not.toBe(seeds[1].parameters_sha256);
    expect(seeds.map(({ threads }: { threads: number }) => threads)).toEqual([1, 1]);
    expect(aggregate.runs).toBe(2);
    expect(report).toBe(join("runs", "both", "comparison.html"));
  });
  test("passes an interruption on: what runs ends cleanly, what waits does not begin", async () => {
    const args = [
      "train",
      "a2c",
      "CartPole-v1",
      ...SMALL,
      "--steps=500000000",
      "--eval-every=0",
      "--checkpoint-every=0",
    ];
    const { child, ended } = started(folder, ...args, "--seeds=3", "--jobs=2", "--name=cut", "--json");
    const runs = ["seed-42", "seed-1042", "seed-2042"].map((name) => join(folder, "runs", "cut", name));
    const isRunning = (run: string | undefined): boolean => existsSync(`${run}/metrics.jsonl`);
    await vi.waitFor(() => expect(runs.slice(0, 2).every(isRunning)).toBe(true), { timeout: 60_000, interval: 100 });
    child.kill("SIGINT");
    const { code, out, err } = await ended;
    expect(code).toBe(1);
    expect(err).toContain("stopping after this iteration");
    const { seeds, unfinished } = JSON.parse(out);
    expect(seeds).toEqual([]);
    expect(unfinished.map(({ seed }: { seed: number }) => seed)).toEqual([42, 1042, 2042]);
    for (const run of runs.slice(0, 2)) {
      expect(JSON.parse(readFileSync(join(run, "summary.json"), "utf8")).ended).toBe("interrupted");
    }
    expect(existsSync(runs[2] as string)).toBe(false);
  });
});
