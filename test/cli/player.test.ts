/**
 * @file Playing in a terminal: frames, keys, and a terminal that is given back. The terminal is made up here.
 */
import { describe, expect, test } from "vitest";
import { keysFor, keysIn } from "../../src/cli/keys.ts";
import { Game, type PlayOptions, playInTerminal, type Terminal } from "../../src/cli/player.ts";
import { environment } from "../../src/envs/registry.ts";
import { box, multiDiscrete } from "../../src/envs/spaces.ts";

const [LEFT, RIGHT, DOWN] = ["\u001b[D", "\u001b[C", "\u001b[B"];

/** A terminal that remembers what is written, and sends keys when it is told to. */
class MadeUp implements Terminal {
  text = "";
  columns = 80;
  rows = 24;
  colour = false;
  listening = 0;
  #handle: (key: string) => void = () => {};
  write(text: string): void {
    this.text += text;
  }
  onKey(handle: (key: string) => void): () => void {
    this.listening++;
    this.#handle = handle;
    return () => {
      this.listening--;
    };
  }
  send(...keys: readonly string[]): void {
    for (const key of keys) this.#handle(key);
  }
  /** Lines that say where the game stands, one for each frame. */
  get frames(): string[] {
    const parts = this.text.split("\u001b[H").slice(1);
    return parts.map((part) => (part.split("\u001b[K")[0] ?? "").trim());
  }
}

const byKeys = (id: "FrozenLake-misc" | "CartPole-v1"): PlayOptions => {
  const { action } = environment(id);
  return { steps: Number.POSITIVE_INFINITY, fps: 20, actions: [], keys: keysFor(id, action), pace: "keys" };
};
const RESTORED = "\u001b[?25h\u001b[?1049l";

describe("the keyboard", () => {
  test("every key is a step; q gives the terminal back", async () => {
    const terminal = new MadeUp();
    const game = new Game(environment("FrozenLake-misc"), 1);
    const played = playInTerminal(game, byKeys("FrozenLake-misc"), terminal);
    terminal.send(RIGHT, DOWN, "x", "q");
    await played;
    game.dispose();
    expect(terminal.frames.map((line) => /action \d/.exec(line)?.[0])).toEqual([undefined, "action 2", "action 1"]);
    expect(terminal.text.startsWith("\u001b[?1049h\u001b[?25l")).toBe(true);
    expect(terminal.text).toContain(RESTORED);
    expect(terminal.text).toContain("← left  ↓ down  → right  ↑ up  q quit");
    expect(terminal.listening).toBe(0);
  });
  test("so does Ctrl-C", async () => {
    const terminal = new MadeUp();
    const game = new Game(environment("CartPole-v1"), 1);
    const played = playInTerminal(game, byKeys("CartPole-v1"), terminal);
    terminal.send(LEFT, "\u0003");
    await played;
    game.dispose();
    expect(terminal.text).toContain(RESTORED);
  });
  test("an ended episode stays in view until a key comes", async () => {
    const terminal = new MadeUp();
    const game = new Game(environment("CartPole-v1"), 1);
    const played = playInTerminal(game, byKeys("CartPole-v1"), terminal);
    while (!game.over) terminal.send(LEFT);
    expect(terminal.frames.at(-1)).toContain("terminated");
    terminal.send("x");
    expect(terminal.frames.at(-1)).toBe("CartPole-v1  episode 1  step 0");
    terminal.send("q");
    await played;
    game.dispose();
  });
});

describe("the clock", () => {
  test("scripted actions, then an end", async () => {
    const terminal = new MadeUp();
    const game = new Game(environment("CartPole-v1"), 1);
    await playInTerminal(game, { steps: 3, fps: 500, actions: [[1], [0], [1]], pace: "clock" }, terminal);
    game.dispose();
    expect(terminal.frames.map((line) => /action \d/.exec(line)?.[0])).toEqual([
      undefined,
      "action 1",
      "action 0",
      "action 1",
    ]);
    expect(terminal.listening).toBe(0);
  });
  test("an action that cannot be ends the game, and the terminal is given back", async () => {
    const terminal = new MadeUp();
    const game = new Game(environment("CartPole-v1"), 1);
    const played = playInTerminal(game, { steps: 3, fps: 500, actions: [[7]], pace: "clock" }, terminal);
    await expect(played).rejects.toThrow(/is not in Discrete\(2\)/);
    game.dispose();
    expect(terminal.text).toContain(RESTORED);
    expect(terminal.listening).toBe(0);
  });
  test("frames fit the terminal", async () => {
    const terminal = Object.assign(new MadeUp(), { columns: 40, rows: 12 });
    const game = new Game(environment("Breakout-MinAtar"), 1);
    await playInTerminal(game, { steps: 1, fps: 500, actions: [], pace: "clock" }, terminal);
    game.dispose();
    for (const frame of terminal.text.split("\u001b[H").slice(1)) {
      const lines = (frame.split("\u001b[J")[0] ?? "").replaceAll("\u001b[K", "").split("\n");
      expect(lines.length).toBeLessThanOrEqual(12);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(40);
    }
  });
});

describe("keys", () => {
  test("come several at once, arrows as sequences", () => {
    expect(keysIn(`a${LEFT}${RIGHT}q`)).toEqual(["a", LEFT, RIGHT, "q"]);
    expect(keysIn("\u001b")).toEqual(["\u001b"]);
  });
  test("push rows of numbers to their limits", () => {
    const keys = keysFor("Other", box([2], { low: [-1, -2], high: [1, 2] }));
    expect(keys.action(LEFT)).toEqual([-1, 0]);
    expect(keys.action("\u001b[A")).toEqual([0, 2]);
    expect(keys.action(".")).toEqual([0, 0]);
    expect(keys.action("x")).toBeUndefined();
  });
  test("choose by digit where actions have no names", () => {
    const keys = keysFor("SimpleBandit-bsuite", environment("SimpleBandit-bsuite").action);
    expect(keys.action("a")).toEqual([10]);
    expect(keys.action("b")).toBeUndefined();
    const several = keysFor("Other", multiDiscrete([2, 3]));
    expect([several.action("1"), several.action("2")]).toEqual([undefined, [1, 2]]);
  });
});
