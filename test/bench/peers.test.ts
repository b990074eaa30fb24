/**
 * @file Peer environments without the network: an empty list of packages makes a bare environment.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ensurePeers, PEER_GROUPS, PeerError, PeerProcess } from "../../src/bench/peers.ts";

const root = mkdtempSync(join(tmpdir(), "lockstep-peers-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const python = spawnSync("python3", ["-c", "import venv, ensurepip"]).status === 0;

describe("peers", () => {
  test("are pinned", () => {
    for (const group of Object.values(PEER_GROUPS)) {
      for (const line of group.packages) expect(line).toMatch(/^[a-z0-9-]+==\d+\.\d+(\.\d+)?$/);
    }
  });

  test("a missing Python is a clear message", async () => {
    const options = { root, say: () => {}, python: "no-such-python" };
    const group = { name: "none", packages: [], size: "nothing" };
    await expect(ensurePeers(group, options)).rejects.toThrow(PeerError);
    await expect(ensurePeers(group, options)).rejects.toThrow("no Python 3.10 or later");
  });

  test.skipIf(!python)("an environment is made once, and a script gets and gives JSON", async () => {
    const lines: string[] = [];
    const options = { root, say: (line: string) => lines.push(line) };
    // pip itself is in every environment: "installing" it needs no network.
    const group = { name: "bare", packages: ["pip"], size: "nothing" };
    const first = await ensurePeers(group, options);
    expect(lines.join("\n")).toContain('making the environment "bare": nothing');
    lines.length = 0;
    expect(await ensurePeers(group, options)).toBe(first);
    expect(lines).toEqual([]);

    const script = `
import json, sys
print("working", file=sys.stderr)
for line in sys.stdin:
    xs = json.loads(line)
    print(json.dumps({"sum": sum(xs), "inside": sys.prefix != sys.base_prefix}) if xs else "hello")
    if len(xs) == 1: sys.exit(3)`;
    const peer = new PeerProcess(first, script, options.say);
    const both = Promise.all([peer.ask([1, 2, 3]), peer.ask([4, 5])]);
    expect(await both).toEqual([
      { sum: 6, inside: true },
      { sum: 9, inside: true },
    ]);
    expect(lines).toEqual(["working"]);
    await expect(peer.ask([])).rejects.toThrow("printed no JSON but: hello");
    expect(await peer.ask([7])).toEqual({ sum: 7, inside: true });
    await expect(peer.ask([1, 2])).rejects.toThrow("ended with code 3");
    await expect(peer.ask([1, 2])).rejects.toThrow("ended with code 3");

    // Made from another list: it has to be made anew, which needs a Python to make it with.
    writeFileSync(join(root, ".peers", "bare", "lockstep.json"), '["something else"]');
    await expect(ensurePeers(group, { ...options, python: "no-such-python" })).rejects.toThrow("no Python");
  });
});
