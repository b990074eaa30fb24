/**
 * @file The sides of the suites `llm` and `optimisations` compute the same numbers: nothing is timed here.
 */
import { describe, expect, test } from "vitest";
import { EXACT, gate } from "../../src/bench/gate.ts";
import { llmCases } from "../../src/bench/suites/llm-cases.ts";
import { ITEMS } from "../../src/bench/suites/optimisations-items.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);

describe("llm", () => {
  test.each(llmCases().filter((one) => one.items <= 8192))("$name has equal bits on every target", (one) => {
    const [first, ...others] = targets.map((target) => {
      const side = one.on(target);
      side.run();
      return side;
    });
    expect(first?.out.some((value) => value !== 0)).toBe(true);
    for (const other of others) gate(one.name, first?.out ?? [], other.out, EXACT);
  });
});

describe("optimisations", () => {
  const compiler = availability("native").target !== undefined;

  test.each(ITEMS.filter(({ id }) => compiler || id !== "P6"))("$id $what: before and after agree", ({ make }) => {
    const forms = make();
    forms.before();
    forms.after();
    forms.gate();
    forms.dispose?.();
  });

  test("every item but those of threads and environments is there", () => {
    expect([...new Set(ITEMS.map(({ id }) => id))]).toEqual(["P1", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P12"]);
  });
});
