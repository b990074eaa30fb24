/**
 * @file C identifiers: from the names that the IR carries as hints to ones that are legal and distinct.
 */
const RESERVED = new Set(
  (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register " +
    "restrict return short signed sizeof static struct switch typedef typeof union unsigned void volatile while asm " +
    "fault context arena block frame linux unix main INLINE"
  ).split(" "),
);
/** Shapes of the helpers' and types' own names. */
const HELPER = /(^|_)(f32|f64|i32|u32|u8|i64|u64)(x\d+)?(_at)?$|_x\d+$|_word$|_words$/;

export class Names {
  readonly #used = new Set<string>();
  readonly #outer: Names | undefined;
  /** Names of an inner scope stay clear of those in `outer`. */
  constructor(outer?: Names) {
    this.#outer = outer;
  }

  isTaken(name: string): boolean {
    return this.#used.has(name) || this.#outer?.isTaken(name) === true;
  }

  /** A fresh identifier that resembles the hint. */
  fresh(hint: string): string {
    let base = hint.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?![A-Za-z])/, "v");
    if (RESERVED.has(base) || HELPER.test(base) || base.startsWith("__")) base += "_v";
    let name = base;
    for (let k = 1; this.isTaken(name); k++) name = `${base}_${k}`;
    this.#used.add(name);
    return name;
  }
}
