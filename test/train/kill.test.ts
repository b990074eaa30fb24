/**
 * @file A run that is killed at random moments, while it writes too, and resumed each time, on one target and another,
 * ends as the run that nothing happened to.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseRecords, type RunSummary, train } from "../../src/train/index.ts";
import { newPath } from "./support.ts";
import { TRAINEE } from "./trainee.ts";

const SCRIPT = fileURLToPath(new URL("./trainee.ts", import.meta.url));
const KILLS = 4;

/** Lets a process train; kills it some milliseconds after some checkpoint. What it said. */
function trainUntil(folder: string, target: string, kill?: { checkpoints: number; delay: number }): Promise<string[]> {
  const child = spawn(process.execPath, ["--import", "tsx", SCRIPT, folder, target], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  let isPlanned = false;
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(said.split("\n").slice(0, -1)));
    child.stdout.on("data", (text: Buffer) => {
      said += text.toString();
      if (!kill || isPlanned || said.split("\n").length <= kill.checkpoints) return;
      isPlanned = true;
      setTimeout(() => child.kill("SIGKILL"), kill.delay);
    });
  });
}

test("killed and resumed, again and again", async () => {
  const wanted = await train({ ...TRAINEE, target: "js" });
  const folder = newPath();
  const targets = ["js", "wasm"];
  let reached = 0;
  let kills = 0;
  let said: string[] = [];
  for (let isOver = false; !isOver; ) {
    const kill = { checkpoints: Math.floor(Math.random() * 12), delay: Math.random() * 15 };
    said = await trainUntil(folder, targets[kills % 2] as string, kills < KILLS ? kill : undefined);
    isOver = said.at(-1)?.startsWith("{") ?? false;
    if (!isOver) kills++;
    // It went on from what was there.
    expect(Number(said[0]), `${JSON.stringify(kill)} after ${reached} steps`).toBeGreaterThan(reached);
    reached = Number(said.at(isOver ? -2 : -1));
  }
  expect(kills).toBeGreaterThan(0);
  const summary = JSON.parse(said.at(-1) as string) as RunSummary;
  expect(summary).toMatchObject({ ended: "finished", parameters_sha256: wanted.parameters_sha256 });
  expect(summary.evaluation).toEqual(wanted.evaluation);
  const records = parseRecords(readFileSync(`${folder}/metrics.jsonl`, "utf8"));
  const iterations = records.filter(({ kind }) => kind === "iteration").map(({ iteration }) => iteration);
  expect(iterations).toEqual(Array.from({ length: wanted.iterations }, (_, k) => k + 1));
  expect(readdirSync(folder).filter((name) => /part$|^lock/.test(name))).toEqual([]);
}, 120_000);
