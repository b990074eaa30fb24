/**
 * @file Python and JSON values in texts: what is read, what is refused, and that nothing else happens.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { literalIn, readLiteral } from "../../../src/train/config/literals.ts";
import { ReadingError } from "../../../src/train/config/problems.ts";

describe("values in texts", () => {
  test.each([
    ["3", 3],
    ["-3.29", -3.29],
    ["1e-5", 1e-5],
    [".5", 0.5],
    ["2.", 2],
    ["1_000", 1000],
    ["True", true],
    ["false", false],
    ["None", null],
    ["null", null],
    ["'a b'", "a b"],
    [String.raw`"it\'s \\ \n"`, "it's \\ \n"],
    ["nn.ReLU", "nn.ReLU"],
    ["[]", []],
    ["[1, 'a', [True]]", [1, "a", [true]]],
    ["(0.9, 0.999,)", [0.9, 0.999]],
    ["{'norm_obs': False, \"x\": {}}", { norm_obs: false, x: {} }],
    [
      "dict(log_std_init=-2, net_arch=dict(pi=[256, 256], vf=[256]),)",
      { log_std_init: -2, net_arch: { pi: [256, 256], vf: [256] } },
    ],
    ["dict(\n  a=1,\n  b=nn.ReLU\n)", { a: 1, b: "nn.ReLU" }],
  ])("%s", (text, value) => {
    expect(readLiteral(text)).toEqual(value);
  });

  test.each(
    [
      ["", "a value at the end"],
      ["[1, 2", '","'],
      ["[1 2]", '","'],
      ["1 2", '"2" stands after the end'],
      ["1.2.3", "not understood"],
      ["0x10", "not understood"],
      ["2 ** 8", "not understood"],
      ["dict(1)", "not the name of a member"],
      ["{a: 1}", "not the name of a member"],
      ["dict(a=1, a=2)", '"a" stands twice'],
      ["__import__('os')", "only dict(...) is read"],
      ["lambda x: x", "stands after the end"],
      ["th.nn.ReLU()", "only dict(...) is read"],
      ["'open", "not understood"],
      ["[".repeat(5000), "nested more than"],
      ["1".repeat(20_000), "20000 characters"],
    ].map(([text = "", message = ""]) => ({ label: text.slice(0, 30), text, message })),
  )("$label is refused", ({ text, message }) => {
    expect(() => readLiteral(text)).toThrow(ReadingError);
    expect(() => readLiteral(text)).toThrow(message);
  });

  test("are the same in JSON", () => {
    // Of the values of JSON only those count that configurations have: no text with escapes beyond Python's own.
    const text = fc.string({ unit: fc.constantFrom(..."abz_ .,:[]{}()='0") });
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        text,
        fc.boolean(),
        fc.constant(null),
        tie("list"),
        tie("mapping"),
      ),
      list: fc.array(tie("value"), { maxLength: 4 }),
      mapping: fc.dictionary(text, tie("value"), { maxKeys: 4 }),
    })).value;
    fc.assert(
      fc.property(value, (one) => {
        expect(JSON.stringify(readLiteral(JSON.stringify(one)))).toBe(JSON.stringify(one));
      }),
    );
  });

  test("are read, or refused in words, whatever the text", () => {
    const piece = fc.constantFrom(
      "dict(",
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      ",",
      "=",
      ":",
      "'a'",
      "x.y",
      "1",
      "-",
      " ",
      "None",
    );
    fc.assert(fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => void literalIn(pieces.join(""))));
  });

  test("__proto__ is a name like others", () => {
    const read = readLiteral("{'__proto__': {'x': 1}}") as { x?: number };
    expect(read.x).toBeUndefined();
    expect(Object.keys(read)).toEqual(["__proto__"]);
  });
});
