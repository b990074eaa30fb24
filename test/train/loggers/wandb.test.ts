/**
 * @file Weights & Biases: what a server receives, and that one which fails does not disturb a run.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type WandbOptions, wandbLogger } from "../../../src/train/loggers/wandb.ts";
import { WandbError } from "../../../src/train/loggers/wandbApi.ts";
import type { RunInfo, RunRecord } from "../../../src/train/records.ts";
import {
  evaluationRecord,
  iterationRecord,
  STEPS,
  sampleInfo,
  sampleRecords,
  sampleSummary,
  temporaryFolder,
} from "./samples.ts";
import { FakeWandb } from "./wandbServer.ts";

let server: FakeWandb;
let notices: string[];
beforeEach(async () => {
  server = await FakeWandb.start();
  notices = [];
});
afterEach(() => server.stop());

const options = (changes: Partial<WandbOptions> = {}): WandbOptions => ({
  apiKey: "secret-key",
  entity: "team",
  project: "trials",
  baseUrl: server.url,
  id: "run-1",
  backoff: 1,
  notice: (text) => notices.push(text),
  ...changes,
});

/** A whole run; what its records did not send before, its end sends. */
async function logAll(records: readonly RunRecord[], changes: Partial<WandbOptions> = {}, info: Partial<RunInfo> = {}) {
  const logger = wandbLogger(options(changes));
  logger.start?.(sampleInfo(info));
  for (const record of records) logger.record?.(record);
  await logger.end?.(sampleSummary());
}

const rows = (id = "run-1"): { [tag: string]: unknown }[] =>
  (server.runs.get(id)?.history ?? []).map((line) => JSON.parse(line));

describe("a server that works", () => {
  test("receives the configuration, a row per step, a summary, and the end", async () => {
    const metrics = { entropy: Number.NaN, loss: Number.POSITIVE_INFINITY };
    await logAll([iterationRecord(1), evaluationRecord(1), iterationRecord(2, metrics)]);
    const run = server.runs.get("run-1");
    expect(JSON.parse(run?.config ?? "")).toMatchObject({ gamma: { value: 0.99 }, algo: { value: "ppo" } });
    expect(run?.displayName).toBe("ppo-CartPole-v1-42");
    expect(rows()).toMatchObject([
      { _step: STEPS, _runtime: 0.25, "train/entropy_loss": -0.69, "eval/mean_reward": 187.5 },
      { _step: 2 * STEPS, "rollout/ep_rew_mean": 40, "train/loss": "Infinity" },
    ]);
    expect(rows()[1]).not.toHaveProperty("train/entropy_loss");
    expect(JSON.parse(run?.summary ?? "")).toMatchObject({ "rollout/ep_rew_mean": 40, "eval/mean_reward": 187.5 });
    expect(run?.exitcode).toBe(0);
    expect(notices).toEqual([`Weights & Biases: ${server.url}/team/trials/runs/run-1`]);
  });

  test("is told the key as it wants it, and nobody else is", async () => {
    await logAll(sampleRecords(1, 2));
    const expected = `Basic ${Buffer.from("api:secret-key").toString("base64")}`;
    expect(new Set(server.requests.map(({ authorization }) => authorization))).toEqual(new Set([expected]));
    expect(server.requests.map(({ body }) => body).join("")).not.toContain("secret-key");
    expect(notices.join("")).not.toContain("secret-key");
  });

  test("receives rows while the run goes on", async () => {
    const logger = wandbLogger(options({ seconds: 0.01 }));
    logger.start?.(sampleInfo());
    for (let k = 1; k <= 3; k++) logger.record?.(iterationRecord(k));
    // The last row waits: an evaluation may join it.
    await expect.poll(() => server.steps("run-1"), { interval: 5 }).toEqual([STEPS, 2 * STEPS]);
    logger.record?.(evaluationRecord(3));
    await logger.end?.(sampleSummary({ ended: "interrupted" }));
    expect(server.steps("run-1")).toEqual([STEPS, 2 * STEPS, 3 * STEPS]);
    expect(rows()[2]).toHaveProperty("eval/mean_reward");
    expect(server.runs.get("run-1")?.exitcode).toBe(255);
  });

  test("receives many rows in several posts, and of very many every second one or fewer", async () => {
    const all = Array.from({ length: 2500 }, (_, k) => iterationRecord(k + 1));
    await logAll(all);
    expect(server.steps("run-1")).toEqual(all.map(({ steps }) => steps));
    const tooMany = Array.from({ length: 30_000 }, (_, k) => iterationRecord(k + 1));
    await logAll(tooMany, { id: "run-2" });
    const steps = server.steps("run-2");
    expect(steps.length).toBeLessThanOrEqual(11_000);
    expect(steps.length).toBeGreaterThan(5000);
    expect(steps.at(-1)).toBe(30_000 * STEPS);
    expect([...steps].sort((a, b) => a - b)).toEqual(steps);
  });

  test("names the default entity where none was given", async () => {
    const { entity: _, ...rest } = options();
    const logger = wandbLogger(rest);
    logger.start?.(sampleInfo());
    await logger.end?.(sampleSummary());
    expect(server.requests.at(-1)?.path).toBe("/files/default-entity/trials/run-1/file_stream");
  });
});

describe("a resumed run", () => {
  test("goes on in the run of its folder, each step once", async () => {
    const folder = temporaryFolder();
    const { id: _, ...rest } = options();
    const first = wandbLogger(rest);
    first.start?.(sampleInfo({ folder }));
    for (const record of sampleRecords(1, 6)) first.record?.(record);
    await first.end?.(sampleSummary());
    const { id } = JSON.parse(readFileSync(join(folder, "wandb.json"), "utf8"));
    const second = wandbLogger(rest);
    second.start?.(sampleInfo({ folder, resumed: { iteration: 4, steps: 4 * STEPS } }));
    for (const record of sampleRecords(5, 8)) second.record?.(record);
    await second.end?.(sampleSummary());
    expect([...server.runs.keys()]).toEqual([id]);
    expect(server.steps(id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((k) => k * STEPS));
  });

  test("begins a run where the server has none, or the folder names none that can be used", async () => {
    const resumed = { iteration: 4, steps: 4 * STEPS };
    await logAll(sampleRecords(5, 6), {}, { resumed });
    expect(server.steps("run-1")).toEqual([5 * STEPS, 6 * STEPS]);
    const folder = temporaryFolder();
    writeFileSync(join(folder, "wandb.json"), '{"id":"../../other"}');
    const { id: _, ...rest } = options();
    const logger = wandbLogger(rest);
    logger.start?.(sampleInfo({ folder, resumed }));
    await logger.end?.(sampleSummary());
    expect([...server.runs.keys()].at(-1)).toMatch(/^[0-9a-z]{10}$/);
  });
});

describe("a server that fails", () => {
  test("for a while: nothing is lost, nothing is doubled", async () => {
    server.fault = (_, request) => (request % 3 === 0 ? undefined : request % 2 === 0 ? 503 : 429);
    await logAll(sampleRecords(1, 5));
    expect(server.steps("run-1")).toEqual([1, 2, 3, 4, 5].map((k) => k * STEPS));
    expect(server.runs.get("run-1")?.exitcode).toBe(0);
    expect(notices).toHaveLength(1);
  });

  test("for good: one notice, then nothing more is sent", async () => {
    server.fault = (path) => (path === "/graphql" ? undefined : 500);
    await logAll(sampleRecords(1, 5));
    expect(notices.filter((text) => text.includes("nothing more is sent"))).toHaveLength(1);
    expect(notices.at(-1)).toContain("status 500");
    // One for the run, then five tries.
    expect(server.requests).toHaveLength(6);
  });

  test("that refuses is not asked again", async () => {
    server.fault = () => 401;
    await logAll(sampleRecords(1, 5));
    expect(server.requests).toHaveLength(1);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain("status 401");
  });

  test("that is not there, or answers nonsense, or refuses in its own words", async () => {
    await logAll(sampleRecords(1, 2), { baseUrl: "http://127.0.0.1:1" });
    const answering =
      (text: string): typeof fetch =>
      async () =>
        new Response(text);
    await logAll(sampleRecords(1, 2), { fetch: answering("<html>") });
    await logAll(sampleRecords(1, 2), { fetch: answering('{"errors":[{"message":"no \\u001bsuch team"}]}') });
    expect(notices).toHaveLength(3);
    expect(notices[1]).toContain("does not name the run");
    expect(notices[2]).toContain("refused: no  such team");
  });

  test("that never answers does not hold up the end", async () => {
    server.fault = () => "silence";
    await logAll(sampleRecords(1, 2), { patience: 0.05 });
    expect(notices).toEqual(["Weights & Biases: not everything was sent within 0.05 s; nothing more is sent there"]);
  });

  test("leaves no rows in memory and takes no more", async () => {
    server.fault = () => 401;
    const logger = wandbLogger(options());
    logger.start?.(sampleInfo());
    await expect.poll(() => notices.length, { interval: 5 }).toBe(1);
    for (let k = 1; k <= 5000; k++) logger.record?.(iterationRecord(k));
    await logger.end?.(sampleSummary());
    expect(server.requests).toHaveLength(1);
  });
});

test.each([
  ["an empty key", { apiKey: "" }, /key is empty/],
  ["a key with a line break", { apiKey: "a\nb" }, /key/],
  ["an address that is none", { baseUrl: "wandb" }, /"wandb", expected/],
  ["an id that is none", { id: "a/b" }, /"a\/b", expected/],
])("%s is refused at once", (_, changes, words) => {
  expect(() => wandbLogger(options(changes))).toThrow(WandbError);
  expect(() => wandbLogger(options(changes))).toThrow(words);
});

test("without a folder no file is written", async () => {
  const { id: _, ...rest } = options();
  const logger = wandbLogger(rest);
  logger.start?.(sampleInfo());
  await logger.end?.(sampleSummary());
  expect(existsSync("wandb.json")).toBe(false);
  expect([...server.runs.keys()][0]).toMatch(/^[0-9a-z]{10}$/);
});
