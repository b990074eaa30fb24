/**
 * @file Ways that hardly any lane takes: functions apart, with the loop's values handed there and back.
 */
import { describe, expect, it } from "vitest";
import { f32, kernel } from "../../src/index.ts";
import { TARGETS } from "../tensor/support.ts";

const LENGTH = 77;
const HUGE = [200, -1e6, 3.4e38, Number.POSITIVE_INFINITY, Number.NaN, 12_345.678];

const swing = kernel(
  { x: f32.array(), y: f32.array(), out: f32.array() },
  ({ x, y, out }, { parallel }) => {
    parallel(x.length, (i) => {
      let angle = x[i]!;
      let total = Math.sin(angle) + Math.cos(angle);
      for (let k = 0; k < 3; k++) {
        angle = angle * 1.5 + y[i]!;
        total += Math.tan(angle) * (k + 1) + angle;
      }
      out[i] = total;
    });
  },
  { name: "swing" },
);

/** Angles of some turns, with huge ones at every `step`-th place from `first` on. */
function angles(first: number, step: number): Float32Array {
  return Float32Array.from({ length: LENGTH }, (_, i) =>
    i >= first && (i - first) % step === 0 ? (HUGE[i % HUGE.length] as number) : (i - 30) * 0.37,
  );
}

const bits = (x: Float32Array): Uint32Array => new Uint32Array(x.map((v) => (Number.isNaN(v) ? Number.NaN : v)).buffer);

function run(target: "js" | "native", x: Float32Array, y: Float32Array): Uint32Array {
  const out = new Float32Array(LENGTH);
  swing.on(target)({ x, y, out });
  return bits(out);
}

describe.skipIf(!TARGETS.includes("native"))("rare ways", () => {
  it("are functions of their own, one for each place", () => {
    const source = swing.show("c");
    expect(new Set(source.match(/\bswing_\d+_rare\w*(?=\()/g)).size).toBe(2);
    expect(source).toMatch(/struct \w+_rare\w* shared\w* = \{/);
  });

  it("give the lanes that take them, and the others, the bits of the js target", () => {
    const usual = angles(LENGTH, 1);
    for (let first = 0; first < 33; first++) {
      const step = first % 2 ? 1000 : 5;
      for (const [x, y] of [
        [angles(first, step), usual],
        [usual, angles(first, step)],
      ] as const)
        expect(run("native", x, y)).toEqual(run("js", x, y));
    }
    const everywhere = angles(0, 1);
    expect(run("native", everywhere, everywhere)).toEqual(run("js", everywhere, everywhere));
  });
});
