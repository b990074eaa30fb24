/**
 * @file Makes a clone ready to run: installs the dependencies when they are missing or differ from the lockfile,
 * and builds dist/ when it is missing or older than the sources. Says nothing when there is nothing to do.
 *
 * Uses Node's own modules only, because it runs before anything is installed. Both checks compare contents, not
 * dates: a checkout or a copy changes dates without changing anything. Everything it prints goes to stderr, so that
 * a command behind it keeps stdout to itself.
 *
 *   node scripts/ensure.mjs            install and build what is stale
 *   node scripts/ensure.mjs --build    the same, and build in any case
 *   node scripts/ensure.mjs --lenient  type errors do not stop it: for the tests, which report them with everything else
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BUNDLER = join(ROOT, "scripts", "bundle.mjs");
const STAMP = join(ROOT, "dist", ".stamp");
const MINIMUM_NODE = [20, 19];

/** @param {string} line */
const say = (line) => process.stderr.write(`lockstep: ${line}\n`);

/** @param {string} message @returns {never} */
function fail(message) {
  say(message);
  process.exit(1);
}

/** @param {string} path @returns {unknown} */
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

/**
 * The packages of a lockfile. npm writes the same form to node_modules/.package-lock.json for what it installed.
 * @param {string} path
 * @returns {Record<string, { version?: string, integrity?: string, optional?: boolean, link?: boolean }>}
 */
function lockedPackages(path) {
  const lock = /** @type {{ packages?: Record<string, object> }} */ (readJson(path));
  return lock.packages ?? {};
}

/** Why an install is needed; undefined when it is not. */
function installReason() {
  const installed = join(ROOT, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return "dependencies are not installed";
  const have = lockedPackages(installed);
  for (const [place, wanted] of Object.entries(lockedPackages(join(ROOT, "package-lock.json")))) {
    if (place === "") continue;
    const found = have[place];
    // Optional packages are for other platforms, or could not be installed here: both are fine.
    if (found === undefined && wanted.optional) continue;
    if (found?.version !== wanted.version) return `${place.replace("node_modules/", "")} differs from the lockfile`;
  }
  return undefined;
}

/**
 * Runs npm with the npm that started us where there is one, so that a version manager's choice is kept.
 * @param {string[]} args
 */
function npm(args) {
  const cli = process.env.npm_execpath;
  const options = { cwd: ROOT, stdio: /** @type {const} */ (["ignore", 2, 2]) };
  return cli?.endsWith(".js")
    ? spawnSync(process.execPath, [cli, ...args], options)
    : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
}

function install() {
  const reason = installReason();
  if (reason === undefined) return;
  say(`${reason}: installing (npm ci)`);
  const flags = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  if (npm(flags).status === 0) return;
  // No package here needs its install script; where one fails or is forbidden, go on without.
  say("npm ci failed: trying again without install scripts");
  if (npm([...flags, "--ignore-scripts"]).status !== 0) fail("npm ci failed: see the lines above");
}

/** @param {string} folder @returns {string[]} */
function filesUnder(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** A digest of all that dist/ is made from. */
function sourceHash() {
  const hash = createHash("sha256");
  const settings = ["tsconfig.json", "tsconfig.build.json", "package.json", "package-lock.json", "scripts/bundle.mjs"];
  for (const file of [...filesUnder(join(ROOT, "src")), ...settings.map((name) => join(ROOT, name))]) {
    hash
      .update(`${relative(ROOT, file).replaceAll("\\", "/")}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
}

/** @param {boolean} force @param {boolean} lenient */
function build(force, lenient) {
  const wanted = sourceHash();
  const found = existsSync(STAMP) ? readFileSync(STAMP, "utf8") : undefined;
  if (found === wanted && !force) return;
  say(found === undefined ? "building dist" : "sources have changed: building dist");
  // Built beside and moved into place, so that a failed or interrupted build leaves no half of one.
  const fresh = join(ROOT, `dist.${process.pid}`);
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const args = [compiler, "-p", join(ROOT, "tsconfig.build.json"), "--outDir", fresh];
  const built = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ["ignore", 2, 2] }).status === 0;
  if (!built && !(lenient && existsSync(fresh))) {
    rmSync(fresh, { recursive: true, force: true });
    fail("the build failed: see the lines above");
  }
  const bundled = spawnSync(process.execPath, [BUNDLER, fresh], { cwd: ROOT, stdio: ["ignore", 2, 2] }).status === 0;
  if (!bundled) say("the command could not be bundled: it works, and starts more slowly");
  // Without a stamp the next run builds again.
  if (built) writeFileSync(join(fresh, ".stamp"), wanted);
  rmSync(join(ROOT, "dist"), { recursive: true, force: true });
  renameSync(fresh, join(ROOT, "dist"));
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor < MINIMUM_NODE[1])) {
  fail(`Node ${MINIMUM_NODE.join(".")} or later is needed; this is ${process.versions.node}`);
}
install();
build(process.argv.includes("--build"), process.argv.includes("--lenient"));
