/**
 * @file `npm test`: formatter and linter, type check, tests (layering among them), then one plain last line.
 *
 * All three steps run even when an earlier one fails. The counts are vitest's; a failed step, a test file that could
 * not be loaded and an error outside any test each count as one failure. Further arguments go to vitest:
 *   npm test -- test/ir
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const rest = process.argv.slice(2).filter((word) => word !== "--full");
const environment = { ...process.env };
if (process.argv.includes("--full")) environment.LOCKSTEP_FULL = "1";

/** Steps that failed, by title. @type {string[]} */
const broken = [];

/**
 * Runs a package's own program with this Node.
 * @param {string} title @param {string} program @param {string[]} args
 */
function step(title, program, args) {
  console.log(`\n> ${title}`);
  const file = join(ROOT, "node_modules", program);
  const result = spawnSync(process.execPath, [file, ...args], { cwd: ROOT, stdio: "inherit", env: environment });
  if (result.status !== 0) broken.push(title);
  return result.status === 0;
}

/** What the reporter wrote; nothing when vitest did not get as far. @param {string} path */
function readCounts(path) {
  try {
    return /** @type {{ passed: number, failed: number, broken: number }} */ (JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return { passed: 0, failed: 0, broken: 1 };
  }
}

const folder = mkdtempSync(join(tmpdir(), "lockstep-test-"));
let passed = 0;
let failed = 0;
try {
  if (!step("biome check", "@biomejs/biome/bin/biome", ["check", "--error-on-warnings"])) failed++;
  if (!step("tsc", "typescript/bin/tsc", ["--noEmit"])) failed++;
  environment.LOCKSTEP_TEST_COUNTS = join(folder, "counts.json");
  const reporters = ["--reporter=default", `--reporter=${join(ROOT, "scripts", "count-reporter.mjs")}`];
  const fine = step("vitest", "vitest/vitest.mjs", ["run", ...reporters, ...rest]);
  const counts = readCounts(environment.LOCKSTEP_TEST_COUNTS);
  passed += counts.passed;
  const failures = counts.failed + counts.broken;
  failed += fine ? failures : Math.max(failures, 1);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (broken.length > 0) console.log(`\nfailed: ${broken.join(", ")}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
