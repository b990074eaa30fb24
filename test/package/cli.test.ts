/**
 * @file The command line as a user meets it: output, streams and exit codes.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeRow, type Report } from "../../src/bench/result.ts";
import { columns, styleFor, wrap } from "../../src/cli/text.ts";
import { didYouMean, nearest } from "../../src/platform/suggest.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "lockstep-cli-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(() => {
  const ensured = spawnSync(process.execPath, [join(ROOT, "scripts", "ensure.mjs")], { encoding: "utf8" });
  expect(ensured.stderr.includes("failed"), ensured.stderr).toBe(false);
});

function lockstep(...args: string[]): { code: number | null; out: string; err: string } {
  const options = { encoding: "utf8", env: { ...process.env, FORCE_COLOR: undefined } } as const;
  const result = spawnSync(process.execPath, [join(ROOT, "dist", "cli", "main.js"), ...args], options);
  return { code: result.status, out: result.stdout, err: result.stderr };
}

function storeReport(name: string, ns: number[]): string {
  const row = makeRow({ name: "k", category: "c", framework: "f", params: {} }, ns, 1);
  const machine = { cpu: "c", architecture: "x", cores: 1, memory_gb: 1, load: [] };
  const system = { date: "2030-01-01", machine, os: "o", versions: {} };
  const report: Report = { suite: "s", quick: false, system, results: [row], comparisons: [], bars: [], skipped: [] };
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(report));
  return file;
}

describe("usage", () => {
  test("help is no error", () => {
    const { code, out } = lockstep("--help");
    expect(code).toBe(0);
    expect(out).toContain("doctor");
    expect(lockstep("bench", "--help").out).toContain("kernels");
  });
  test("an unknown command is one, and a near one is offered", () => {
    const { code, out, err } = lockstep("docter");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("Did you mean doctor?");
    expect(lockstep().code).toBe(2);
  });
  test("so is an unknown suite, option or number", () => {
    const { code, out, err } = lockstep("bench", "kernls");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain('There is no suite "kernls". Did you mean "kernels"?');
    expect(lockstep("bench", "kernels", "--quik").code).toBe(2);
    expect(lockstep("bench", "kernels", "--threads", "none").err).toContain("whole number");
    expect(lockstep("doctor", "now").code).toBe(2);
  });
});

describe("doctor", () => {
  test("prints within 80 columns and without colour into a pipe", () => {
    const { code, out } = lockstep("doctor");
    expect(code).toBe(0);
    expect(out).toContain("auto");
    expect(out).not.toContain("\u001b");
    for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });
  test("--json is one document on stdout", () => {
    const { code, out } = lockstep("doctor", "--json");
    expect(code).toBe(0);
    const facts = JSON.parse(out);
    expect(facts).toMatchObject({ node: { version: process.versions.node, v8: process.versions.v8 } });
    expect(["js", "wasm", "native"]).toContain(facts.auto.target);
    expect(facts.auto.why).not.toBe("");
  });
});

describe("stored results", () => {
  test("are printed", () => {
    const { code, out } = lockstep("bench", "report", storeReport("a.json", [1, 2, 3]));
    expect(code).toBe(0);
    expect(out).toContain("| k | f |");
  });
  test("are compared; something slower gives exit code 1", () => {
    const fast = storeReport("fast.json", [10, 10, 10]);
    const slow = storeReport("slow.json", [20, 20, 20]);
    expect(lockstep("bench", "compare", slow, fast).code).toBe(0);
    const { code, out } = lockstep("bench", "compare", fast, slow, "--json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ regressions: 1 });
  });
  test("that are none give an error that says so", () => {
    const file = join(folder, "bad.json");
    writeFileSync(file, "{}");
    const { code, err } = lockstep("bench", "report", file);
    expect(code).toBe(1);
    expect(err).toContain("is not a bench report");
    expect(lockstep("bench", "report", join(folder, "gone.json")).code).toBe(2);
  });
});

describe("the tour", () => {
  test("fits a narrow terminal and shows every target", { timeout: 60_000 }, () => {
    const { code, out } = lockstep("tour");
    expect(code).toBe(0);
    expect(out).toContain("parallel(");
    expect(out).toMatch(/^js\b/m);
    expect(out).toMatch(/^wasm\b/m);
    for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });
});

describe("a suite on the command line", () => {
  test("quick, as JSON, with files", { timeout: 300_000 }, () => {
    const { code, out, err } = lockstep("bench", "kernels", "--quick", "--json", "--out", folder);
    expect(code, err).toBe(0);
    const report = JSON.parse(out);
    expect(report.bars).toHaveLength(24);
    expect(new Set(report.bars.map((bar: { id: string }) => bar.id)).size).toBe(24);
    for (const bar of report.bars) expect(bar.measured !== null || bar.reason, bar.id).toBeTruthy();
    expect(readFileSync(join(folder, "kernels.json"), "utf8")).toBe(out);
    expect(readFileSync(join(folder, "kernels.md"), "utf8")).toContain("## Bars");
  });
});

describe("text", () => {
  test("colours only where they are wanted", () => {
    expect(styleFor({ isTTY: true }, {}).bold("x")).toBe("\u001b[1mx\u001b[0m");
    expect(styleFor({ isTTY: true }, { NO_COLOR: "1" }).bold("x")).toBe("x");
    expect(styleFor({ isTTY: false }, {}).good("x")).toBe("x");
  });
  test("columns and lines", () => {
    expect(
      columns(
        [
          ["a", "1"],
          ["long", "22"],
        ],
        [1],
      ),
    ).toEqual(["a      1", "long  22"]);
    expect(wrap("one two three", 7, "  ")).toBe("one two\n  three");
  });
  test("nearest words", () => {
    expect(nearest("kernles", ["kernels", "buffers"])).toBe("kernels");
    expect(nearest("Doctro", ["doctor"])).toBe("doctor");
    expect(nearest("zebra", ["kernels"])).toBeUndefined();
    expect(didYouMean("x", ["kernels"])).toBe("");
  });
});
