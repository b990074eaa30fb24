/**
 * @file `lockstep report`: a page out of what lies in a run folder.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { report } from "../../src/cli/report.ts";
import { LockstepError } from "../../src/platform/errors.ts";
import { filesOf, madeUp, writeRun } from "../train/runs.ts";
import { builtFirst, lockstep, ownFolder } from "./command.ts";

builtFirst();
const folder = ownFolder();
const PNG = [0x89, 0x50, 0x4e, 0x47];

const runOf = (name: string, options: Parameters<typeof madeUp>[0] = {}): string =>
  writeRun(join(folder, name), filesOf(madeUp(options)));
/** A report, and what was said. */
async function reported(run: string, options: Parameters<typeof report>[1] = {}) {
  const said: string[] = [];
  const written = await report(run, options, (line) => said.push(line));
  return { said, written, page: readFileSync(written.report, "utf8") };
}

/** An environment that leaves a mark when its file is loaded. */
const marked = join(folder, "marked.ts");
const mark = join(folder, "loaded");
writeFileSync(
  marked,
  `
import { writeFileSync } from "node:fs";
import { box, defineEnv, discrete, f32 } from "lockstep";
writeFileSync(${JSON.stringify(mark)}, "");
export default defineEnv({
  id: "Marked", params: {}, state: { x: f32 }, observation: box([1]), action: discrete(2), maxSteps: 5,
  reset(s) { s.x = 0; },
  step(s) { s.x += 1; return { reward: 1, terminated: false }; },
  observe(s, obs) { obs[0] = s.x; },
  draw(s, canvas) { canvas.view(0, 0, 1, 1); },
});
`,
);

test("stands in the run folder, with a picture of the environment", async () => {
  const run = runOf("usual");
  const { written, page, said } = await reported(run);
  expect(written).toEqual({ run, report: join(run, "report.html"), png: null });
  expect(page).toContain("ppo on CartPole-v1, seed 1");
  expect(page).toContain('<img alt="CartPole-v1" src="data:image/svg+xml,');
  expect(said).toEqual([]);
});

test("stands elsewhere when it is asked for, beside its picture", async () => {
  const run = runOf("elsewhere");
  const out = join(folder, "pages", "deep", "mine.html");
  const { written } = await reported(run, { out, png: true });
  expect(written).toEqual({ run, report: out, png: join(folder, "pages", "deep", "mine.png") });
  expect(existsSync(join(run, "report.html"))).toBe(false);
  expect([...readFileSync(written.png as string).subarray(0, 4)]).toEqual(PNG);
});

test("is written without a picture where the environment is not known", async () => {
  const { page, said } = await reported(runOf("unknown", { env: "Nowhere-v7" }));
  expect(page).toContain("Nowhere-v7");
  expect(page).not.toContain("<img");
  expect(said.join("\n")).toMatch(/no picture of the environment: .*Nowhere-v7/);
});

test("says that a run is not over", async () => {
  const { page, said } = await reported(runOf("unfinished", { finished: false }));
  expect(page).toContain("steps so far");
  expect(said.join("\n")).toContain("there is no summary.json");
});

test("does not load a file that the run folder names, unless it is named by the user", async () => {
  const run = runOf("foreign", { env: marked });
  const { said } = await reported(run);
  expect(existsSync(mark)).toBe(false);
  expect(said.join("\n")).toContain(`--env ${marked}`);
  const { code, err } = await lockstep(folder, "report", run, "--env", marked);
  expect(err).toBe("");
  expect(code).toBe(0);
  expect(existsSync(mark)).toBe(true);
});

test("of a folder that holds no run is refused", async () => {
  await expect(reported(folder)).rejects.toThrow(LockstepError);
  await expect(reported(join(folder, "missing"))).rejects.toThrow("is not the folder of a run");
});

test("as a command says what it wrote, in lines or as one document", async () => {
  const run = runOf("command");
  const [lines, json, missing] = await Promise.all([
    lockstep(folder, "report", "command"),
    lockstep(folder, "report", run, "--out", "json.html", "--json"),
    lockstep(folder, "report", "nothing"),
  ]);
  expect(lines).toEqual({ code: 0, out: `wrote ${join("command", "report.html")}\n`, err: "" });
  expect(JSON.parse(json.out)).toEqual({ run, report: "json.html", png: null });
  expect(missing.code).toBe(1);
  expect(missing.err).toContain("nothing is not the folder of a run");
});
