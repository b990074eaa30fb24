/**
 * @file The sides of the suite `gae` compute the numbers of the plain loop; nothing is timed for its own sake here.
 */
import { describe, expect, test } from "vitest";
import { gate } from "../../src/bench/gate.ts";
import { Recorder } from "../../src/bench/suite.ts";
import { gaeSuite } from "../../src/bench/suites/gae.ts";
import { gaeCases, plainGae } from "../../src/bench/suites/gae-cases.ts";

const cases = gaeCases();

test("five lengths and the batch of the bar, with 5 % ends", () => {
  const names = cases.map((one) => one.name);
  for (const steps of [128, 512, 2048, 8192, 32768]) expect(names).toContain(`gae ${steps} f64`);
  expect(names).toContain("gae 256x2048 f32");
  const dones = cases.find((one) => one.name === "gae 32768 f64")?.arrays.dones as Uint8Array | undefined;
  const ends = dones?.reduce((sum, d) => sum + d, 0) ?? 0;
  expect(Math.abs(ends / 32768 - 0.05)).toBeLessThan(0.005);
});

describe("sides", () => {
  test.each(cases.filter((one) => one.items <= 8192))("$name in JavaScript is the plain loop", (one) => {
    const wanted = plainGae(one);
    const side = one.on("js").at(-1);
    side?.run();
    const limit = one.environments > 0 ? 1e-4 : 1e-12;
    gate(one.name, side?.outputs.returns ?? [], wanted.returns, { absolute: limit, relative: limit });
  });
});

test("the suite's gates hold, and bars that need peers say so", async () => {
  const timing = { samples: 1, sampleNs: 1, warmUpNs: 1 };
  const recorder = new Recorder({ quick: true, peers: false, timing, say: () => {} });
  await gaeSuite.run(recorder);
  const { bars, results } = recorder.report("gae");
  expect(recorder.failures).toBe(0);
  expect(results.length).toBeGreaterThanOrEqual(cases.length * 2);
  expect(bars).toHaveLength(6);
  expect(bars.every((bar) => bar.measured === null && !bar.met)).toBe(true);
});
