/**
 * @file Bound functions give back what they hold: binding and unbinding again and again takes no more memory.
 */
import { expect, test } from "vitest";
import { f32 } from "../../src/kernel/declare.ts";
import { allocate, allocateFrom, free, kernel } from "../../src/kernel/kernel.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);
/** Bytes of the memory that were ever taken, as it says itself when it is asked for too much. */
function bytesTaken(): number {
  try {
    free(allocate(f32, 2 ** 40));
  } catch (error) {
    return Number(/(\d+) are in use/.exec((error as Error).message)?.[1]);
  }
  return expect.fail("there is no end of memory");
}

test.each(targets)("unbound functions on %s leave nothing behind, and others go on", (target) => {
  const twice = kernel({ x: f32.array() }, ({ x }, { parallel }) => {
    parallel(x.length, (i) => {
      x[i] = x[i]! * 2;
    });
  });
  const on = twice.on(target);
  const [one, other] = [allocateFrom(f32, [1, 2, 3]), allocateFrom(f32, [5])];
  const kept = on.bind({ x: one });
  const round = (): void => {
    const bound = on.bind({ x: other });
    bound();
    on.program.unbind(bound);
    // Saying it twice must not give back what belongs to another one by now.
    on.program.unbind(bound);
  };
  round();
  const before = bytesTaken();
  expect(before).toBeGreaterThan(0);
  for (let k = 0; k < 20; k++) round();
  kept();
  expect(bytesTaken()).toBe(before);
  expect([Array.from(one), Array.from(other)]).toEqual([[2, 4, 6], [5 * 2 ** 21]]);
});
