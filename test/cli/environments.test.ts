/**
 * @file The commands that show environments, as a user meets them: envs, play and check.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { describeReport } from "../../src/cli/check.ts";
import { styleFor } from "../../src/cli/text.ts";
import { CHECKS } from "../../src/envs/check/index.ts";
import { builtFirst, type Ended, lockstep as inFolder, ownFolder } from "./command.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = ownFolder();
builtFirst();
const lockstep = (...args: string[]): Promise<Ended> => inFolder(folder, ...args);

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const coin = (parts: { readonly observe: string; readonly name?: string }): string => `
import { box, defineEnv, discrete, i32 } from "lockstep";
export const ${parts.name ?? "Coin"} = defineEnv({
  id: "${parts.name ?? "Coin"}",
  params: {},
  state: { face: i32 },
  observation: box([1], { low: 0, high: 1 }),
  action: discrete(2),
  maxSteps: 10,
  reset(s, { rng }) {
    s.face = rng.int(2);
  },
  step(s, action, { rng }) {
    const reward: number = action === s.face ? 1 : 0;
    s.face = rng.int(2);
    return { reward, terminated: false };
  },
  observe(s, obs) {
    ${parts.observe}
  },
});
`;
const good = file("good.ts", coin({ observe: "obs[0] = Math.fround(s.face);" }));
const broken = file("broken.ts", coin({ observe: "obs[0] = Math.fround(s.face) * 2;" }));
const both = file(
  "both.ts",
  coin({ observe: "obs[0] = 0;", name: "First" }) +
    coin({ observe: "obs[0] = 1;", name: "Second" }).replace(/import.*\n/, ""),
);
const none = file("none.ts", "export const answer: number = 42;\n");

test("lockstep --version says the version of the package", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  for (const option of ["--version", "-V"]) {
    const { code, out } = await lockstep(option);
    expect({ code, out: out.trim() }).toEqual({ code: 0, out: version });
  }
});

describe.concurrent("envs", () => {
  test("lists all, within 80 columns, without colour into a pipe", async () => {
    const { code, out } = await lockstep("envs");
    expect(code).toBe(0);
    expect(out).not.toContain("\u001b");
    for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(out.split("\n").filter((line) => /^\S+-(v\d|bsuite|misc|MinAtar) /.test(line))).toHaveLength(26);
    expect(out).toMatch(/^CartPole-v1 +4 +1 of 2 +500 +mean return 475$/m);
  });
  test("lists them as one JSON document", async () => {
    const { out } = await lockstep("envs", "--json");
    const list = JSON.parse(out);
    expect(list).toHaveLength(27);
    expect(list[0]).toMatchObject({ id: "CartPole-v1", action: { kind: "discrete", n: 2 }, max_steps: 500 });
    expect(list[0].observation.low).toEqual([expect.closeTo(-4.8), null, expect.closeTo(-0.418879), null]);
  });
  test("shows one with its parameters and a drawing", async () => {
    const { code, out } = await lockstep("envs", "FrozenLake-misc");
    expect(code).toBe(0);
    expect(out).toMatch(/action +Discrete\(4\): left, down, right, up/);
    expect(out).toMatch(/slippery +1/);
    expect(out).toMatch(/[\u2801-\u28ff]/);
    for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    const facts = JSON.parse((await lockstep("envs", "FrozenLake-misc", "--json")).out);
    expect(facts).toMatchObject({ params: { slippery: 1 }, state: { cell: "i32" } });
  });
  test("an unknown one is wrong usage, with a near one", async () => {
    const { code, out, err } = await lockstep("envs", "CartPole");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain('Did you mean "CartPole-v1"?');
    expect((await lockstep("envs", "MNISTBandit-bsuite")).out).toContain("IDX");
  });
});

describe.concurrent("play", () => {
  test("scripted actions, as plain frames into a pipe", async () => {
    const { code, out } = await lockstep("play", "CartPole-v1", "--actions", "0,1,1", "--steps", "3", "--seed", "5");
    expect(code).toBe(0);
    expect(out).not.toContain("\u001b");
    const lines = out.split("\n").filter((line) => line.startsWith("CartPole-v1"));
    expect(lines.map((line) => /step \d+( {2}action \d)?/.exec(line)?.[0])).toEqual([
      "step 0",
      "step 1  action 0",
      "step 2  action 1",
      "step 3  action 1",
    ]);
  });
  test("random ones, the same for a seed", async () => {
    const run = async (seed: string): Promise<string> => (await lockstep("play", "Catch-bsuite", "--seed", seed)).out;
    const [first, again, other] = await Promise.all([run("3"), run("3"), run("4")]);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    expect(first).toMatch(/step 9 .*terminated/);
  });
  test("rows of numbers", async () => {
    const { code, out } = await lockstep("play", "PointRobot-misc", "--actions", "0.1,0,-0.1,0.05", "--steps", "2");
    expect(code).toBe(0);
    expect(out).toContain("action -0.1,0.05");
    expect((await lockstep("play", "PointRobot-misc", "--actions", "0.1,0,0.1")).err).toContain("not rows of 2");
  });
  test("a picture", async () => {
    const svg = join(folder, "out.svg");
    const { code, err } = await lockstep("play", "Breakout-MinAtar", "--steps", "5", "--svg", svg);
    expect(code, err).toBe(0);
    expect(readFileSync(svg, "utf8")).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect(
      (await lockstep("play", "Breakout-MinAtar", "--steps", "1", "--svg", join(folder, "no", "x.svg"))).code,
    ).toBe(2);
  });
  test("a file's environment, which has no drawing: its state is shown", async () => {
    const { code, out, err } = await lockstep("play", good, "--steps", "2");
    expect(code, err).toBe(0);
    expect(out).toMatch(/^face {2}[01]$/m);
    expect((await lockstep("play", good, "--steps", "1", "--svg", join(folder, "x.svg"))).err).toContain(
      "has no drawing",
    );
  });
  test("wrong usage is said", async () => {
    expect(await lockstep("play", "CartPole-v1", "--actions", "7")).toMatchObject({
      code: 2,
      // Before anything is shown.
      out: "",
      err: expect.stringContaining("7 is not in Discrete(2)"),
    });
    expect((await lockstep("play", "CartPole-v1", "--actions", "1,x")).err).toContain("numbers with commas");
    expect((await lockstep("play", "CartPole-v1", "--keys")).err).toContain("needs a terminal");
    expect((await lockstep("play", "MNISTBandit-bsuite")).err).toContain("--data");
    expect(await lockstep("play", join(folder, "gone.ts"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("there is no file"),
    });
    expect(await lockstep("play", none)).toMatchObject({
      code: 2,
      err: expect.stringContaining("exports no environment"),
    });
    expect((await lockstep("play", both)).err).toContain("First, Second. Choose one with --export");
    expect((await lockstep("play", both, "--export", "Second", "--steps", "1")).out).toMatch(/^Second {2}episode 0/m);
  });
  test("pictures of the user", async () => {
    const bytes = (header: readonly number[], data: readonly number[]): Buffer =>
      Buffer.concat([Buffer.from(Uint32Array.from(header).buffer).swap32(), Buffer.from(data)]);
    writeFileSync(join(folder, "train-images-idx3-ubyte"), bytes([0x803, 2, 2, 2], [255, 0, 0, 255, 255, 255, 0, 0]));
    writeFileSync(join(folder, "train-labels-idx1-ubyte"), bytes([0x801, 2], [3, 4]));
    const { code, out, err } = await lockstep("play", "MNISTBandit-bsuite", "--data", folder);
    expect(code, err).toBe(0);
    expect(out).toMatch(/reward -?1 /);
    expect((await lockstep("play", "MNISTBandit-bsuite", "--data", ROOT)).err).toContain(
      "no unpacked IDX file of images",
    );
  });
});

describe.concurrent("check", () => {
  test("a good file, within 80 columns", { timeout: 60_000 }, async () => {
    const { code, out, err } = await lockstep("check", good);
    expect(code, out + err).toBe(0);
    expect(out).toMatch(/^ok {2}targets$/m);
    expect(out).toMatch(/js +\d+(\.\d+)? ns per step/);
    expect(out).toContain("nothing found");
    for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });
  test("a broken one: exit code 1, as one JSON document", { timeout: 60_000 }, async () => {
    const { code, out } = await lockstep("check", broken, "--json");
    expect(code).toBe(1);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ id: "Coin", ok: false, findings: [{ check: "observation space" }] });
    expect(report.findings[0].problem).toContain("obs[0] is 2");
    expect(report.speed[0].ns_per_step).toBeGreaterThan(0);
  });
  test("findings are shown with their fix", () => {
    const finding = { check: "numbers", problem: "the reward is NaN", fix: "return a finite reward" } as const;
    const report = { id: "Coin", findings: [finding], checks: CHECKS, speed: [], skipped: [], steps: 1, episodes: 0 };
    const text = describeReport(report, styleFor({ isTTY: false }));
    expect(text).toContain("no  numbers\n    the reward is NaN\n    fix: return a finite reward\n");
    expect(text).toContain("1 finding\n");
    const early = describeReport({ ...report, checks: ["definition"] }, styleFor({ isTTY: false }));
    expect(early).toContain("-   targets: not reached");
  });
});
